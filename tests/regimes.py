"""Small real trainings in each regime that the verdict has to recognise."""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier

import dris
from dris.data.synthetic import two_cluster_mixture

SHARE = 0.06


@dataclass(frozen=True)
class Case:
    dynamics: dris.Dynamics
    mask: np.ndarray


def network(step=0.05, width=64):
    """One call of partial_fit is an epoch of small steps: the same training, less overhead."""
    return MLPClassifier(
        (width,), solver="sgd", learning_rate_init=step, momentum=0.9, batch_size=64
    )


def planted(labels, seed, classes, share=SHARE):
    rng = np.random.default_rng([seed, 77])
    mask = np.zeros(len(labels), dtype=bool)
    mask[rng.choice(len(labels), int(share * len(labels)), replace=False)] = True
    new = np.array(labels)
    new[mask] = (new[mask] + rng.integers(1, classes, mask.sum())) % classes
    return mask, new


def trained(x, y, seed, *, model=None, proxies=3, epochs=10, scored=None, share=SHARE, **more):
    classes = int(max(y)) + 1
    mask, given = planted(y, seed, classes, share)
    d = dris.train_proxies(
        x,
        given,
        proxies=proxies,
        epochs=epochs,
        model=model or network(),
        seed=seed,
        scored_epoch=scored,
        batch_size=len(x),
        workers=1,
        **more,
    )
    return Case(d, mask)


def digits(n=None, seed=0):
    x, y = load_digits(return_X_y=True)
    keep = np.random.default_rng([seed, 5]).permutation(len(y))[: n or len(y)]
    return x[keep], y[keep]


def clean(seed):
    return trained(*digits(), seed)


def uniform(seed, rate):
    x, y = digits()
    return trained(x, dris.flip_labels(y, rate, seed=seed).given, seed)


def targeted(seed, rate):
    x, y = digits()
    noisy = dris.targeted_noise(x, y, rate, model=network(), epochs=10, seed=seed)
    return trained(x, noisy.given, seed)


def instance(seed, rate):
    x, y = digits()
    from sklearn.linear_model import LogisticRegression

    p = LogisticRegression(C=1e-4, max_iter=300).fit(x, y).predict_proba(x)
    return trained(
        x, dris.flip_labels(y, rate, kind="instance", probabilities=p, seed=seed).given, seed
    )


def linear(loss="log_loss", alpha=1e-3):
    return SGDClassifier(loss=loss, alpha=alpha)


def mixture(seed, rate=0.1, model=None, proxies=4, epochs=10, standardize=False):
    m = two_cluster_mixture(seed=seed, split="train")
    y = dris.flip_labels(m.y, rate, seed=seed).given if rate else m.y
    return trained(
        m.x,
        y,
        seed,
        model=model or linear(),
        proxies=proxies,
        epochs=epochs,
        standardize=standardize,
    )


def easy(seed, n=1000, gap=8.0):
    rng = np.random.default_rng([seed, 3])
    y = np.arange(n) % 4
    centres = gap * np.eye(4, 10)
    return trained(rng.normal(size=(n, 10)) + centres[y], y, seed)


def memorised(seed):
    x, y = digits(700, seed)
    return trained(x, y, seed, model=network(0.1, 200), epochs=60, scored=60)


def copies(seed, d=None):
    c = d or clean(seed)
    return Case(c.dynamics.only([0, 0, 1]), c.mask)


def small_class(seed):
    x, y = digits()
    keep = np.sort(np.concatenate([np.flatnonzero(y != 3), np.flatnonzero(y == 3)[:12]]))
    return trained(x[keep], y[keep], seed)


REGIMES = {
    "clean": clean,
    "uniform 10 %": lambda s: uniform(s, 0.1),
    "uniform 25 %": lambda s: uniform(s, 0.25),
    "uniform 40 %": lambda s: uniform(s, 0.4),
    "targeted 10 %": lambda s: targeted(s, 0.1),
    "targeted 25 %": lambda s: targeted(s, 0.25),
    "targeted 40 %": lambda s: targeted(s, 0.4),
    "instance 25 %": lambda s: instance(s, 0.25),
    "mixture clean": lambda s: mixture(s, 0.0),
    "mixture log": lambda s: mixture(s),
    "mixture hinge2": lambda s: mixture(s, model=linear("squared_hinge", 0.1)),
    "mixture log std": lambda s: mixture(s, standardize=True),
    "easy": easy,
    "memorised": memorised,
    "copies": copies,
    "small class": small_class,
}
