"""Any scikit-learn classifier, without the labels that are probably wrong.

    pip install .                 # in a clone
    python examples/sklearn_robust_classifier.py      # digits, a few seconds

A quarter of the training labels is flipped. A decision tree is fitted on all of them, and inside a
`RobustClassifier`, which trains three small proxies first and drops what they do not believe.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import dris


def main() -> None:
    """Flip, fit both, compare."""
    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, random_state=0, stratify=y)
    noisy = dris.flip_labels(y_train, 0.25, seed=0)  # nobody below looks at noisy.flipped

    tree = DecisionTreeClassifier(random_state=0)
    bare = tree.fit(x_train, noisy.given).score(x_test, y_test)
    robust = dris.RobustClassifier(tree).fit(x_train, noisy.given)
    better = robust.score(x_test, y_test)

    kept = robust.kept_
    print(*robust.decision_.lines()[:3], sep="\n")
    print(f"kept {kept.sum()} of {len(y_train)} examples by {robust.rule_}")
    print(f"wrong labels: {noisy.flipped[kept].mean():.1%} of those, 25.0% of all")
    print(f"test accuracy: {bare:.1%} bare, {better:.1%} robust")


if __name__ == "__main__":
    main()
