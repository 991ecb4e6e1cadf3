"""Whether `RobustClassifier` helps: digits with and without label noise, three classifiers.

Run `python -m experiments.studies.robust` (two minutes on two cores); it prints the table of
docs/integrations.md and, for classifiers that take weights, what how="weights" reaches.
"""

import tempfile
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import dris

CLASSIFIERS = {
    "decision tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "logistic regression": lambda seed: LogisticRegression(max_iter=2000),
    "MLP, 64 units, 100 epochs": lambda seed: MLPClassifier((64,), max_iter=100, random_state=seed),
}
NOISES = {
    "clean": lambda x, y, seed: y,
    "uniform 25 %": lambda x, y, seed: dris.flip_labels(y, 0.25, seed=seed).given,
    "targeted 25 %": lambda x, y, seed: dris.targeted_noise(x, y, 0.25, seed=seed).given,
}
SEEDS = 3


def main() -> None:
    """Print test accuracy in per cent: bare, robust, and robust with weights."""
    warnings.filterwarnings("ignore")
    x, y = load_digits(return_X_y=True)
    reached: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    with tempfile.TemporaryDirectory() as store:
        for seed in range(SEEDS):
            train_x, test_x, train_y, test_y = train_test_split(
                x / 16, y, random_state=seed, stratify=y
            )
            for noise, flipped in NOISES.items():
                given = flipped(train_x, train_y, seed)
                for name, made in CLASSIFIERS.items():
                    fitted = [
                        made(seed),
                        dris.RobustClassifier(made(seed), store=store),
                        dris.RobustClassifier(made(seed), store=store, how="weights"),
                    ]
                    if name.startswith("MLP"):
                        fitted.pop()
                    scores = [model.fit(train_x, given).score(test_x, test_y) for model in fitted]
                    reached.setdefault((name, noise), []).append((*scores, np.nan)[:3])
    print(f"| | {' | '.join(f'{noise} | robust | weighted' for noise in NOISES)} |")
    print("|---" * (1 + 3 * len(NOISES)) + "|")
    for name in CLASSIFIERS:
        means = [100 * np.mean(reached[name, noise], axis=0) for noise in NOISES]
        cells = " | ".join("" if np.isnan(v) else f"{v:.1f}" for row in means for v in row)
        print(f"| {name} | {cells} |")


if __name__ == "__main__":
    main()
