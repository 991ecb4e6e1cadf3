"""Ensemble data made by hand, no training: what proxies would have said of labels we know."""

from dataclasses import replace

import numpy as np

from dris.core.dynamics.dynamics import Dynamics
from dris.core.noise.canaries import plant_canaries
from dris.data.labelled import LabelledData
from dris.pipeline.ensemble import Ensemble
from dris.pipeline.settings import Settings

WRONG = 0.1


def made_ensemble(
    n=2000, *, apart=4.0, stray=0, loved=0, copies=False, rare=0, hated=20.0, trusted=None
):
    """Ten classes, a tenth of the labels wrong, and three proxies that see most of them.

    `stray` choosing canaries have got their true label back, `loved` ones a label that the proxies
    believe in above all. The last `rare` examples are an eleventh class, by `hated` harder than the
    others. Returns the scored data and a mask of the wrong labels.
    """
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 10
    truth[n - rare :] = 10
    wrong = (rng.random(n) < WRONG) & (truth < 10)
    given = np.where(wrong, (truth + 1) % 10, truth)
    canaries = plant_canaries(given, share=0.1, rng=rng, classes=10 + bool(rare), avoid=trusted)
    seen = truth.copy()
    back = canaries.choosing[:stray]
    seen[back] = canaries.planted[back]
    logits = apart * np.eye(10 + bool(rare))[seen] + rng.normal(size=(3, n, 10 + bool(rare)))
    best = canaries.choosing[:loved]
    logits[:, best, canaries.planted[best]] += 50
    logits[:, n - rare :, -1] -= hated * bool(rare)
    if copies:
        logits[:] = logits[0]
    dynamics = with_rivals(logits, canaries.planted)
    names = tuple("abcdefghijk"[: 10 + bool(rare)])
    data = LabelledData.of(np.zeros((n, 1)), given, classes=names, trusted=trusted)
    return Ensemble(data, dynamics, (canaries,), Settings()), wrong


def with_rivals(logits, labels):
    """Dynamics of logits (proxy, example, class) that also say which other class is likeliest."""
    d = Dynamics.from_logits(logits, labels)
    others = np.where(np.eye(logits.shape[-1], dtype=bool)[labels], -np.inf, logits)
    columns = {name: column[:, 0] for name, column in d.columns.items()}
    return Dynamics.from_arrays(**columns, rival=others.argmax(axis=-1), labels=labels)


def cross_fitted(n=600, classes=3, wrong=0.15, strength=4.0, seed=0):
    """Proxies that see the truth, in fold and out of fold, and a share of wrong labels."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % classes
    flipped = rng.random(n) < wrong
    labels = np.where(flipped, (truth + 1) % classes, truth)
    sides = []
    for _ in range(2):
        logits = strength * np.eye(classes)[truth] + rng.normal(size=(3, n, classes))
        side = Dynamics.from_logits(logits, labels)
        others = np.where(np.eye(classes, dtype=bool)[labels], -np.inf, logits)
        rival = others.argmax(axis=2).astype(np.int32)
        sides.append(replace(side, columns={**side.columns, "rival": rival[:, None]}))
    return replace(sides[0], out_of_fold=sides[1]), flipped
