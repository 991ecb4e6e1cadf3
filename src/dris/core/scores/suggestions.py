"""The label that the proxies would give, from the label, its strongest rival and the margin."""

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError


def suggested_labels(dynamics: Dynamics) -> NDArray[np.int64]:
    """The class that most proxies would give at the scored epoch, one per example.

    A proxy gives the label where it is right and the label's rival where not. Between classes
    with equally many votes the larger summed margin decides, then the smaller number. Needs
    labels and the column rival.

    >>> d = Dynamics.from_arrays(loss=np.ones((3, 2)), labels=[0, 1], rival=[[2, 0]] * 3,
    ...     margin=[[1, -1], [-2, -1], [-1, 3]],
    ...     correct=[[True, False], [False, False], [False, True]])
    >>> suggested_labels(d).tolist()
    [2, 0]
    """
    if dynamics.labels is None:
        raise InputError("suggestions need labels, these dynamics hold none; pass labels=")
    guess = guesses(dynamics)
    strength = np.abs(dynamics.snapshot("margin").astype(np.float64))
    best = np.full(dynamics.examples, -1, dtype=np.int64)
    most, strongest = np.zeros(best.size), np.zeros(best.size)
    for own in guess:
        same = guess == own
        votes, summed = same.sum(axis=0), np.where(same, strength, 0.0).sum(axis=0)
        level = (votes == most) & (summed == strongest)
        wins = (votes > most) | ((votes == most) & (summed > strongest)) | (level & (own < best))
        best[wins], most[wins], strongest[wins] = own[wins], votes[wins], summed[wins]
    return best


def contradicted_by_most(right: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where at least half of the proxies give another label: a suspect, where there are no folds.

    >>> contradicted_by_most(np.array([[True, False], [True, False], [False, True]])).tolist()
    [False, True]
    """
    return np.asarray(right.mean(axis=0) <= 0.5)


def guesses(dynamics: Dynamics) -> NDArray[np.int64]:
    """What each proxy would give at the scored epoch, (K, N).

    >>> d = Dynamics.from_arrays(loss=[[1.0]], labels=[0], rival=[[2]], correct=[[False]])
    >>> guesses(d).tolist()
    [[2]]
    """
    labels = np.asarray(dynamics.labels, dtype=np.int64)
    rival = dynamics.snapshot("rival").astype(np.int64)
    return np.where(dynamics.snapshot("correct"), labels, rival)


def pilot_views(dynamics: Dynamics) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """What `plant_canaries` asks of a pilot: the gap, and the two likeliest classes (N, 2).

    The gap is the mean over proxies of the distance, in logits, between the label and its
    rival: small where an example is contested, large for the easy and for the surely wrong.
    The two classes are the label and the rival that most proxies see, the likelier one first.

    >>> d = Dynamics.from_arrays(loss=np.ones((1, 2)), labels=[0, 1], rival=[[2, 0]],
    ...     margin=[[1.0, -3.0]], correct=[[True, False]])
    >>> gap, top_two = pilot_views(d)
    >>> gap.tolist(), top_two.tolist()
    ([1.0, 3.0], [[0, 2], [0, 1]])
    """
    labels = np.asarray(dynamics.labels, dtype=np.int64)
    margin = dynamics.snapshot("margin").astype(np.float64)
    rivals = np.sort(dynamics.snapshot("rival"), axis=0).astype(np.int64)
    seen = (rivals[:, None] == rivals[None]).sum(axis=1)
    rival = np.take_along_axis(rivals, seen.argmax(axis=0)[None], axis=0)[0]
    right = dynamics.snapshot("correct").mean(axis=0) > 0.5
    first, second = np.where(right, labels, rival), np.where(right, rival, labels)
    return np.abs(margin).mean(axis=0), np.stack((first, second), axis=1)
