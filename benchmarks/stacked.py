"""Stacked proxies beside scikit-learn's MLP and beside five-fold logistic regression.

Run `python benchmarks/stacked.py [million small large embeddings]` (minutes, most of them
scikit-learn's; parts may be named). All times are processor time of this process, threads
included, as other work on the machine does not count into it; each ratio is of two things measured
in the same run. scikit-learn's MLP is trained by the same call,
`train_proxies(model="sklearn_mlp")`, recorded after every epoch as well; what `fit` alone takes,
which records nothing, is printed beside it. The logistic regression is what cleanlab does first:
`cross_val_predict` with five folds; the little that follows is left out in its favour. Beside it
stand the proxies that `dris clean` trains, two networks with a hidden layer and one linear model,
stopped by the held-out loss. With the threads that scikit-learn takes on a busy machine its
processor time was forty times as much.
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from dris.learn.proxies import train_proxies
from dris.pipeline.ensemble import PATIENCE, _heads
from dris.pipeline.settings import DEFAULTS
from measure import finish, peak_mb, report


def made(n: int, d: int, classes: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Blobs that overlap, every fifth label drawn at random."""
    rng = np.random.default_rng(0)
    truth = rng.integers(classes, size=n)
    centres = (5 * rng.normal(size=(classes, d)) / np.sqrt(d)).astype(np.float32)
    x = rng.standard_normal((n, d), dtype=np.float32)
    for c in range(classes):  # in place: the peak of memory is to be that of training
        np.add(x, centres[c], out=x, where=(truth == c)[:, None])
    wrong = rng.random(n) < 0.2
    return x, np.where(wrong, rng.integers(classes, size=n), truth)


def cost(work: Callable[[], Any], rounds: int = 3) -> float:
    """Seconds of processor time, the least of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def beside_scikit_learn(n: int, d: int, classes: int, epochs: int, aim: float) -> None:
    """Three networks of 64 hidden units, batches of 64, both ways."""
    x, y = made(n, d, classes)
    how: dict[str, Any] = {"epochs": epochs, "batch_size": 64, "workers": 1}
    stacked = cost(lambda: train_proxies(x, y, model="mlp", **how))
    theirs = cost(lambda: train_proxies(x, y, model="sklearn_mlp", **how), rounds=1)
    plain = MLPClassifier(
        (64,), solver="sgd", batch_size=64, max_iter=epochs, tol=0.0, n_iter_no_change=epochs
    )
    bare = 3 * cost(lambda: plain.fit(x, y), rounds=1)
    print(f"{n:,} × {d}, 3 proxies, {epochs} epochs: stacked {stacked:.2f} s of processor time")
    print(f"  scikit-learn {theirs:.1f} s; its fit alone, without a record, {bare:.1f} s")
    report(f"scikit-learn's MLP / stacked, {n:,} × {d}", theirs / stacked, "×", aim, at_least=True)


def beside_logistic_regression() -> None:
    """6,000 embeddings: 3 proxies × 4 folds and 20 epochs, or five fits."""
    x, y = made(6_000, 128, 10)

    def five_folds() -> Any:
        # One thread, in its favour: on a busy machine its threads mostly wait for each other.
        with threadpool_limits(limits=1):
            return cross_val_predict(LogisticRegression(), x, y, cv=5, method="predict_proba")

    folds: dict[str, Any] = {"cross_fit": 4, "scored_epoch": "held_out", "workers": 1}
    folds["model"] = list(_heads(DEFAULTS))
    whole = cost(lambda: train_proxies(x, y, **folds))
    stopped = cost(lambda: train_proxies(x, y, patience=PATIENCE, **folds))
    theirs = cost(five_folds)
    print(f"6,000 × 128, 3 proxies × 4 folds, both measured after each of 20 epochs: {whole:.2f} s")
    print(f"  stopped by the held-out loss {stopped:.2f} s")
    print(f"  five-fold logistic regression {theirs:.2f} s of processor time")
    print(f"  to the end of 20 epochs that is {whole / theirs:.1f}×")
    what = "3 proxies × 4 folds, stopped by the held-out loss / five-fold logistic regression"
    report(what, stopped / theirs, "×", 2, at_least=False)


def a_million() -> None:
    """1,000,000 × 64: time and memory of three proxies, per epoch, only the scored one kept."""
    x, y = made(1_000_000, 64, 4)
    before = peak_mb()
    how: dict[str, Any] = {"epochs": 4, "record": "scored", "rival": True}
    begin = time.process_time()
    train_proxies(x, y, model="mlp", **how)
    each = (time.process_time() - begin) / 4
    grown = peak_mb() - before
    print(f"1,000,000 × 64, 3 proxies: {each:.1f} s of processor time an epoch")
    aim = 3 * x.nbytes / 1e6
    report("its memory beyond the data", grown, " MB", aim, at_least=False)


PARTS: dict[str, Callable[[], None]] = {
    "million": a_million,  # first, so that the peak is its own
    "small": lambda: beside_scikit_learn(8_000, 12, 2, 20, 20),
    "large": lambda: beside_scikit_learn(50_000, 64, 10, 4, 10),
    "embeddings": beside_logistic_regression,
}


def main() -> None:
    """Print the ratios."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    train_proxies(*made(500, 4, 2), epochs=1)  # the first call loads libraries
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
    finish()


if __name__ == "__main__":
    main()
