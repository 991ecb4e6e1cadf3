"""From `Dynamics`, a rule and what is known to the page's data, in one call."""

import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import dris
from dris.core.checks.diagnostics import empirical_gap
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores.formulas import consensus, rank_variance
from dris.core.select.selection import Subset
from dris.core.streams import hashed_order
from dris.core.validate import checked_count, checked_ids, count_of
from dris.report_page.page_data import NO_LABEL, Advice, Pictures, ReportData, Rows, Sample, Step
from dris.report_page.shown import DETAIL_BYTES, Table, by_class, pictures, rows, shown_positions

FRACTIONS = tuple(round(0.05 * s, 2) for s in range(1, 21))

SubsetAt = Callable[[float], Subset]
ContaminationAt = Callable[[Subset], tuple[float | None, float | None]]


def report_data(
    dynamics: Dynamics | None,
    *,
    title: str,
    advice: Advice,
    keep: float,
    subset_at: SubsetAt,
    contamination_at: ContaminationAt | None = None,
    labels: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    class_names: Sequence[str] | None = None,
    suspicion: ArrayLike | None = None,
    suspected: ArrayLike | None = None,
    suggested: ArrayLike | None = None,
    trusted: ArrayLike | None = None,
    canaries: Mapping[str, ArrayLike] | None = None,
    canaries_too: bool = False,
    images: Any = None,
    table: Table | None = None,
    queue: int = 200,
    sample: Sample | None = None,
    recipe: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
) -> ReportData:
    """Gather the page's data; ranks, subsets, queue, gap and thumbnails are worked out here.

    Args:
        dynamics: Of at least two proxies; None where there are none, and then no plane.
        title: What the data are called.
        advice: The verdict.
        keep: The chosen keep fraction.
        subset_at: The rule: a keep fraction to its `Subset`. Where it refuses a fraction, the
            slider has no such step.
        contamination_at: A subset to (estimate, upper limit) of its corrupted share.
        labels: Given labels; those of the dynamics unless given.
        ids: Names of the examples; those of the dynamics unless given.
        class_names: Names of the classes; their numbers unless given.
        suspicion: Larger is more suspicious; the mean rank unless given.
        suspected: Mask of the labels that look wrong.
        suggested: The label the proxies would give; -1 where there is none.
        trusted: Mask of the labels known to be right.
        canaries: A mask of planted examples for each kind.
        canaries_too: Whether a canary's own label, too, may be suspected and put up for review.
        images: Indexed by position: arrays or paths of image files.
        table: Columns of a table, each indexed by position; with images, shown beside them.
        queue: How many labels to put up for review.
        sample: Kept examples that a person may check.
        recipe: Everything needed to do it again.
        environment: Versions; Python's, NumPy's and dris's own unless given.

    >>> from dris import keep_top
    >>> d = Dynamics.from_losses([[0.1, 2.0, 0.7], [0.2, 1.0, 1.5]])
    >>> data = report_data(d, title="toy", labels=[0, 1, 0], keep=0.5,
    ...     advice=Advice("Fine.", "natural", "rank_variance", "few suspects"),
    ...     subset_at=lambda fraction: keep_top(d.snapshot("loss")[0], fraction=fraction))
    >>> data.examples, data.queue.tolist()
    (3, [1, 2, 0])
    """
    given = labels if labels is not None or dynamics is None else dynamics.labels
    if given is None:
        raise InputError("these dynamics hold no labels; pass labels=")
    y = np.asarray(given)
    n = y.size if dynamics is None else dynamics.examples
    if y.shape != (n,):
        raise InputError(f"labels must be one per example: {n} examples, {y.size} labels")
    called = checked_ids(ids, n) if dynamics is None else dynamics.ids
    names = class_names if class_names is not None else [str(c) for c in range(int(y.max()) + 1)]
    mean, variance = np.zeros(n), np.zeros(n)
    if dynamics is not None:
        mean, variance = consensus(dynamics), rank_variance(dynamics)
    kinds, planted = _planted(canaries or {}, n)
    known = _mask_or_none(trusted, n)
    wary = np.asarray(mean if suspicion is None else suspicion, dtype=np.float64)
    own = np.ones(n, dtype=np.bool_) if canaries_too else planted == 0
    doubted = _mask_or_none(suspected, n) & own & ~known
    other = np.full(n, NO_LABEL) if suggested is None else np.asarray(suggested)
    # A label that the proxies would give as well is no question.
    first = _queue(wary, own & ~known & ((other != y) | (other == NO_LABEL)), called, queue)
    asked = first if sample is None else np.r_[first, sample.drawn[~np.isin(sample.drawn, first)]]
    turns = by_class(np.flatnonzero(doubted), wary, y)
    asked = np.r_[asked, turns[~np.isin(turns, asked)]]
    shown = shown_positions(asked, mean, variance, called)
    beside = None if table is None else rows(table, shown, budget=_budget(images is not None))
    details: Pictures | Rows | None = beside
    if images is not None:
        details = pictures(images, shown, budget=_budget(table is not None), beside=beside)
    return ReportData(
        title=title,
        ids=called,
        class_names=tuple(map(str, names)),
        labels=y,
        proxies=0 if dynamics is None else dynamics.proxies,
        mean_rank=mean,
        rank_variance=variance,
        suspicion=wary,
        suspected=doubted,
        trusted=known,
        canary=planted,
        canary_kinds=kinds,
        suggested=other,
        steps=_steps(subset_at, contamination_at, float(keep), n),
        keep=float(keep),
        queue=first,
        advice=advice,
        sample=sample,
        gap=None if dynamics is None or not planted.any() else empirical_gap(dynamics, planted > 0),
        details=details,
        recipe=dict(recipe or {}),
        environment=_versions() if environment is None else dict(environment),
    )


def _steps(
    subset_at: SubsetAt, contamination_at: ContaminationAt | None, keep: float, n: int
) -> tuple[Step, ...]:
    """One step per keep fraction that the rule accepts; the chosen one must be."""
    count_of(keep, n, "keep")
    steps = []
    for fraction in sorted({*FRACTIONS, keep}):
        try:
            subset = subset_at(fraction)
        except InputError:
            # Too small a fraction keeps nothing, too large a one is past what a gate lets through.
            if fraction == keep:
                raise
            continue
        estimate, limit = contamination_at(subset) if contamination_at else (None, None)
        steps.append(Step(fraction, subset.mask(), estimate, limit))
    return tuple(steps)


def _planted(
    canaries: Mapping[str, ArrayLike], n: int
) -> tuple[tuple[str, ...], NDArray[np.uint8]]:
    planted = np.zeros(n, dtype=np.uint8)
    for code, (kind, mask) in enumerate(canaries.items(), 1):
        marked = _mask_or_none(mask, n)
        if (planted[marked] > 0).any():
            raise InputError(f"an example is a canary twice, the second time as {kind}")
        planted[marked] = code
    return tuple(canaries), planted


def _mask_or_none(mask: ArrayLike | None, n: int) -> NDArray[np.bool_]:
    if mask is None:
        return np.zeros(n, dtype=np.bool_)
    m = np.asarray(mask)
    if m.dtype != np.bool_ or m.shape != (n,):
        raise InputError(f"a mask must be {n} booleans, got {m.dtype} of shape {m.shape}")
    return m


def _queue(
    suspicion: NDArray[np.float64], open_: NDArray[np.bool_], ids: NDArray[Any], most: int
) -> NDArray[np.int64]:
    """The most suspicious first; equals in the order of their hashes."""
    checked_count(most, "queue", at_least=0)
    candidates = np.flatnonzero(open_)
    lots = hashed_order(ids[candidates], seed=0)
    order = np.lexsort((lots, -suspicion[candidates]))[:most]
    return candidates[order].astype(np.int64)


def _budget(shared: bool) -> int:
    """Bytes for pictures or rows: half of them each where both are there."""
    return DETAIL_BYTES // 2 if shared else DETAIL_BYTES


def _versions() -> dict[str, str]:
    return {
        "dris": dris.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }
