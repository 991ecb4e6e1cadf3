"""How the cost of assessing labels grows with rows, columns and classes, beside cleanlab.

    python benchmarks/growth.py [rows wide classes million]

Processor time of this process, one worker, everything from the same arrays: the proxies and trees
that `dris clean` trains with the decision made from them, beside cleanlab on five folds of a
logistic regression and, where they take no hour, of boosted trees. The harm check is left out but
for thousands of columns, where memory has an aim as well. Every fifth label is wrong; AUROC is that
of P(wrong). Needs `pip install cleanlab` for its columns, and leaves them out where it is missing.
"""

import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from threadpoolctl import threadpool_limits

import dris
from measure import finish, peak_mb, report

WIDE = 1_000  # columns from which on the harm check is measured too, and memory
MAX_WIDE_MB = 1_000
# Rows, columns, classes, the most seconds, and whether cleanlab's trees are run as well.
CASES: dict[str, list[tuple[int, int, int, float, bool]]] = {
    "rows": [(10_000, 32, 5, 10, True), (100_000, 32, 5, 5, False)],
    "wide": [(10_000, 4_096, 5, 15, False)],
    "classes": [(20_000, 32, 100, 10, False), (20_000, 32, 1_000, 15, False)],
    "million": [(1_000_000, 32, 5, 30, False)],
}


def made(n: int, d: int, classes: int) -> tuple[Any, Any, Any]:
    """Blobs that overlap, the given labels, and which of them are wrong."""
    rng = np.random.default_rng(0)
    truth = rng.integers(classes, size=n)
    x = rng.standard_normal((n, d), dtype=np.float32)
    x += (5 * rng.normal(size=(classes, d)) / np.sqrt(d)).astype(np.float32)[truth]
    wrong = rng.random(n) < 0.2
    return x, np.where(wrong, (truth + rng.integers(1, classes, n)) % classes, truth), wrong


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time, and what came of it."""
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def cleanlab(x: Any, y: Any, model: Any) -> Any:
    """The quality of every label by five folds, smaller is worse."""
    from cleanlab.rank import get_label_quality_scores

    with threadpool_limits(limits=1):
        p = cross_val_predict(model, x, y, cv=5, method="predict_proba")
    return get_label_quality_scores(y, p)


def compare(n: int, d: int, classes: int, most: float, trees: bool) -> None:
    """One line of the table."""
    x, y, wrong = made(n, d, classes)
    ours, decision = timed(lambda: dris.clean(x, y, workers=1, check_harm=d > WIDE))
    peak = peak_mb()
    found = roc_auc_score(wrong, decision.p_wrong)
    line = f"{n:,} × {d:,} × {classes:,}: dris {ours:.1f} s (AUROC {found:.3f}, {peak:.0f} MB)"
    if importlib.util.find_spec("cleanlab") is not None:
        models: dict[str, Any] = {"LR": LogisticRegression(max_iter=100)}
        if trees:
            models["boosted trees"] = HistGradientBoostingClassifier()
        for name, model in models.items():
            theirs, quality = timed(lambda model=model: cleanlab(x, y, model))  # type: ignore[misc]
            line += f"; cleanlab, {name}, {theirs:.1f} s ({roc_auc_score(wrong, -quality):.3f})"
    print(line, flush=True)
    report(f"dris on {n:,} × {d:,} × {classes:,}", ours, " s", most, at_least=False)
    if d > WIDE:
        report(f"dris on {n:,} × {d:,} × {classes:,}", peak, " MB", MAX_WIDE_MB, at_least=False)


def main() -> None:
    """Print a line for each size."""
    warnings.simplefilter("ignore")
    dris.clean(*made(500, 4, 2)[:2], workers=1, check_harm=False)  # the first call loads libraries
    for name in sys.argv[1:] or CASES:
        for case in CASES[name]:
            compare(*case)
    finish()


if __name__ == "__main__":
    main()
