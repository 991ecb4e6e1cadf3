"""The epoch to score: the one with the best out-of-fold loss."""

from dataclasses import replace

import numpy as np

from dris.core.dynamics.columns import TRAJECTORIES
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError


def best_epoch(dynamics: Dynamics) -> int:
    """The epoch with the smallest mean out-of-fold loss over all proxies and examples.

    Later epochs memorise wrong labels; earlier ones have not learned the right ones. Of equal
    epochs the first. Needs out-of-fold values at every epoch.
    """
    loss = dynamics.require_out_of_fold().loss
    if dynamics.is_summary:
        raise InputError(
            "a summary holds one epoch, so there is none to pick; train with "
            'scored_epoch="held_out", which picks it as it goes'
        )
    means = [loss[:, e].mean(dtype=np.float64) for e in range(loss.shape[1])]
    return dynamics.epochs[int(np.argmin(means))]


def held_from(dynamics: Dynamics, epoch: int, last: int) -> Dynamics:
    """Repeat an epoch for all later ones up to `last`, as if training had stopped there.

    Proxies with different best epochs can then be merged.

    >>> d = Dynamics.from_arrays(loss=[[[3.0], [1.0], [2.0]]])
    >>> held_from(d, 2, 4).loss.tolist(), held_from(d, 2, 4).scored_epoch
    ([[[3.0], [1.0], [1.0], [1.0]]], 4)
    """
    at = np.minimum(np.arange(last), epoch - 1)
    outside = dynamics.out_of_fold
    return replace(
        dynamics,
        columns={
            name: column[:, at] if name in TRAJECTORIES else column
            for name, column in dynamics.columns.items()
        },
        epochs=tuple(range(1, last + 1)),
        scored_epoch=last,
        out_of_fold=None if outside is None else held_from(outside, epoch, last),
    )
