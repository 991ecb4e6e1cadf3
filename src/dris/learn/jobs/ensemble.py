"""Join the proxies that finished into one `Dynamics`."""

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dris.core.dynamics.best_epoch import held_from
from dris.core.dynamics.columns import TRAJECTORIES
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.ranks import normalized_ranks
from dris.learn.trainers.folds import in_and_out
from dris.learn.trainers.job import Data, Job, Trained, folds_for


def join_proxies(jobs: Sequence[Job], results: Sequence[Trained], data: Data) -> Dynamics:
    """One `Dynamics` of all proxies that finished; the others are named in a warning."""
    if len(jobs) == 1 and jobs[0].members and results[0].dynamics and not results[0].broken:
        return results[0].dynamics
    parts: dict[int, Dynamics] = {}
    missing: dict[int, str] = {}
    apart: dict[int, list[tuple[Job, Trained]]] = {}
    for job, result in zip(jobs, results, strict=True):
        if not job.members:
            apart.setdefault(int(job.stream[1]), []).append((job, result))
            continue
        missing |= {job.members[i]: str(error) for i, error in result.broken.items()}
        left = [k for i, k in enumerate(job.members) if i not in result.broken]
        for i, k in enumerate(left if result.dynamics is not None else ()):
            parts[k] = result.dynamics.only([i])  # type: ignore[union-attr]
    for k, mine in apart.items():
        errors = [str(error) for _, result in mine for error in result.broken.values()]
        if errors:
            missing[k] = errors[0]
        else:
            each = align([result.dynamics for _, result in mine if result.dynamics is not None])
            parts[k] = _join_folds(mine[0][0], each, data)
    reasons = [missing[k] for k in sorted(missing)]
    if not parts:
        raise InputError(f"no proxy finished; {reasons[0]}")
    dynamics = Dynamics.merge(align([parts[k] for k in sorted(parts)]))
    if missing:
        warnings.warn(
            f"{len(parts)} of {len(parts) + len(missing)} proxies finished; {'; '.join(reasons)}",
            stacklevel=4,
        )
        dynamics = replace(dynamics, provenance={**dynamics.provenance, "missing": reasons})
    return dynamics


def align(parts: Sequence[Dynamics]) -> list[Dynamics]:
    """Models that stopped by themselves, cut at the last epoch that all have, scored at one."""
    if any(part.is_summary for part in parts):
        return list(parts)
    if len({part.epochs for part in parts}) > 1:
        last = min(part.epochs[-1] for part in parts)
        parts = [part.until(last) for part in parts]
    scored = min((part.scored_epoch for part in parts), default=0)
    return [part if part.scored_epoch == scored else part.at(scored) for part in parts]


def hold_at_best(trained: Sequence[Trained]) -> list[Trained]:
    """Jobs whose proxies stopped at different epochs, as if each had waited at its best one."""
    last = max((t.dynamics.scored_epoch for t in trained if t.dynamics is not None), default=1)
    return [
        t
        if t.dynamics is None
        else replace(t, dynamics=held_from(t.dynamics, t.dynamics.scored_epoch, last))
        for t in trained
    ]


def _join_folds(job: Job, folds: Sequence[Dynamics], data: Data) -> Dynamics:
    """The models of one proxy's folds as one proxy, in fold and out of fold."""
    if job.folds is None:
        return folds[0]
    fold = folds_for(job, job.stream, data)
    first = folds[0]
    each = {
        name: np.stack([part.columns[name][0] for part in folds])
        for name in first.columns
        if name in TRAJECTORIES
    }
    inside, outside = ({n: c[None] for n, c in side.items()} for side in in_and_out(each, fold))
    return replace(first, columns=inside, out_of_fold=replace(first, columns=outside))


def refuse_copies(dynamics: Dynamics) -> None:
    """Raise if two proxies agree but for rounding: their variance would be that rounding.

    Ranks that differ by less than 1 % on average count as copies where there are enough of them
    (naive Bayes on the digits: 0.7 %). Networks differ by five times that and more; linear models
    that have converged on separable data may not, and to rank variance they are copies too.
    """
    # Margins, not losses: those of two good fits are both zero but for rounding.
    margin = dynamics.snapshot("margin")
    ranks = normalized_ranks(margin)
    many = dynamics.examples >= 200
    for j, k in itertools.combinations(range(len(margin)), 2):
        alike = many and np.abs(ranks[j] - ranks[k]).mean() < 0.01
        if alike or np.allclose(margin[j], margin[k], rtol=1e-3, atol=1e-5):
            made = dynamics.provenance["proxies"][k]["model"]
            raise InputError(
                f"proxies {j} and {k} are copies: {made} ranks the losses alike whatever "
                "its seed and order; bag it (bag=0.8), so that each trains on its own sample"
            )
