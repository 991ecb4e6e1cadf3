"""Which rows to train on, and the limits on exactly those rows.

Every step is blind to the certifying canaries: a canary is one example among others until canaries
leave the subset and their rows come back with their own labels, which limits count.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.limits import ContaminationLimit, CorruptionLimit, subset_limits
from dris.core.checks.assumption_checks import FEW_SUSPECTS
from dris.core.checks.judgement import Judgement
from dris.core.errors import InputError
from dris.core.select.gate import canaries_needed
from dris.core.select.rules import CLEAN, CLEAN_THEN_HARD, RECOMMENDED, Rule, choose, rule_of
from dris.core.streams import hashed_order
from dris.core.subset import Subset, top_mask
from dris.core.validate import count_of
from dris.data.files import listed
from dris.pipeline.ensemble import Ensemble
from dris.pipeline.wording import EVERYTHING

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64] | NDArray[np.float64]
CLEANEST = "aum_mean"  # needs no gate: the judgement's own answer to too few canaries
MIN_ROWS_TO_PRUNE = 200  # with fewer, keeping a small share lost more than it won on digits
MIN_ROWS_TO_CLEAN = 50  # with fewer nothing is dropped
MIN_PASS_SHARE = 0.75  # of what is no suspect; a gate that passes less was set by stray canaries
MIN_CLASS_SHARE = 0.5  # of its share of the data, which a class keeps at least


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Rows to train on, how they came about, and what is certified of them."""

    rule: str  # the name of the rule that was used, "everything" where none was
    kept: Mask  # true for the rows to train on; the rest as in a `Decision`
    limits: tuple[ContaminationLimit, ...] = ()
    corruption: tuple[CorruptionLimit, ...] = ()
    short: int = 0
    notes: tuple[str, ...] = ()  # what was done in place of what was asked, a sentence each
    used: Rule | None = None
    contradicted: float = 0.0


def check_rule(rule: str | Rule, keep: float | None, *, canaries: bool, n: int) -> None:
    """Refuse, before anything trains, what could not be chosen afterwards."""
    if keep is not None:
        count_of(keep, n, "keep")
    if rule == RECOMMENDED:
        return
    made = rule_of(rule)
    if made.needs_canaries and not canaries:
        raise InputError(
            f"the rule {made.name} needs canaries to set its gate, and there are none; let dris "
            "train the proxies with canaries, or take a rule such as rank_variance"
        )


def choose_rows(
    ensemble: Ensemble, judgement: Judgement | None, *, keep: float | None, rule: str | Rule
) -> Choice:
    """The rows that a rule keeps at α, or all but the suspects, and the limits on them."""
    corruption = ensemble.corruption
    used, share, notes = _plan(ensemble, judgement, rule, keep)
    against = ensemble.assessment.contradicted
    everything = Choice(
        EVERYTHING,
        np.ones(len(ensemble.data), dtype=np.bool_),
        corruption=corruption,
        notes=notes,
        contradicted=float(against.mean()),
    )
    if used == EVERYTHING:
        return everything
    made, planted = rule_of(used), ensemble.planted
    known = judgement is not None and (made.name, share) == (judgement.rule, judgement.keep)
    subset = judgement.subset if judgement is not None and known else None
    if subset is None:
        subset = _choose(ensemble, made, share)
    mask = subset.mask() | ensemble.data.trusted
    if rule == RECOMMENDED or made.name == CLEAN:
        mask, note = _with_every_class(ensemble, mask, fixed=keep is not None)
        notes = (*notes, *note)
    chosen = replace(subset, indices=np.flatnonzero(mask))
    back = planted & ~ensemble.assessment.given.suspects  # a canary's own label is like any other
    if keep is not None:
        back = _stand_ins(ensemble, mask & planted, back)
    kept = (mask & ~planted) | back
    if not kept.any():
        return replace(everything, notes=(*notes, "nothing would be left"))
    labels = ensemble.data.labels
    gone = np.setdiff1d(labels, labels[kept])
    if gone.size:
        names = listed([ensemble.data.names[label] for label in gone])
        notes = (*notes, f"no example of {names} is kept")
    leaks = [leak.column for leak in ensemble.data.leaks if not leak.left_out]
    if leaks:  # proxies agree with every given label then, planted ones aside
        corruption = ()
        notes = (
            *notes,
            "neither how many labels are wrong nor a limit can be told while the label can be "
            f"read off {', '.join(leaks)}",
        )
    limits: tuple[ContaminationLimit, ...] = ()
    if corruption and (mask & ~planted).any():
        limits = subset_limits(chosen, ensemble.canaries, corruption, rows=back)
    short = int(subset.parameters.get("short", 0))
    contradicted = float(against[kept].mean())
    return Choice(made.name, kept, limits, corruption, short, notes, made, contradicted)


def _choose(ensemble: Ensemble, rule: str | Rule, share: float) -> Subset:
    return choose(
        rule,
        ensemble.view,
        keep=share,
        choosing=ensemble.choosing,
        seed=ensemble.settings.seed,
        assessment=ensemble.assessment,
    )


def _stand_ins(ensemble: Ensemble, chosen: Mask, free: Mask) -> Mask:
    """As many canaries' rows as canaries were chosen; those chosen first."""
    at = np.flatnonzero(free)
    order = np.lexsort((hashed_order(ensemble.data.ids[at], ensemble.settings.seed), ~chosen[at]))
    back = np.zeros_like(free)
    back[at[order[: int(chosen.sum())]]] = True
    return back


def _plan(
    ensemble: Ensemble, judgement: Judgement | None, rule: str | Rule, keep: float | None
) -> tuple[str | Rule, float, tuple[str, ...]]:
    """The rule to use, the share it keeps, and what was put in place of what."""
    n, share = len(ensemble.data), 1.0 if keep is None else keep
    recommended = rule == RECOMMENDED
    least = MIN_ROWS_TO_CLEAN if keep is None else MIN_ROWS_TO_PRUNE
    if n < least and recommended:
        return EVERYTHING, 1.0, (f"{n} examples are too few to drop any ({least} are the least)",)
    if recommended and judgement is not None and judgement.subset is None:
        return EVERYTHING, 1.0, (f"no rule is safe with these proxies ({judgement.reason})",)
    if recommended and keep is None:
        if "correct" not in ensemble.dynamics.columns:
            return EVERYTHING, 1.0, ("these dynamics do not say which labels proxies contradict",)
        return CLEAN, 1.0, ()
    if judgement is None:
        if not recommended:
            return rule, share, ()
        if ensemble.dynamics.out_of_fold is not None:
            return CLEAN_THEN_HARD, share, ()
        cleanest = CLEANEST if "margin" in ensemble.dynamics.columns else "rank_variance"
        return cleanest, share, (f"no canaries: {cleanest} in place of a recommendation",)
    unsuspected = (1 - judgement.suspect_share) * float((~ensemble.planted).mean())
    used = judgement.rule if recommended else rule
    need, have, why = canaries_needed(), ensemble.canaries[0].choosing.size, None
    if rule_of(used).needs_canaries and have < need:
        why = f"a gate needs {need} choosing canaries and {n} examples gave {have}"
    elif recommended:
        why = _unfit(ensemble, judgement, unsuspected * n)
    if why is None and (not recommended or used != CLEANEST):
        return used, share, ()
    # What most proxies contradict is never among the cleanest, however much may be kept.
    notes = () if why is None else (f"{why}, so the cleanest by margin are kept",)
    return CLEANEST, min(share, max(unsuspected, 1 / n)), notes


def _unfit(ensemble: Ensemble, judgement: Judgement, unsuspected: float) -> str | None:
    """Why the recommended rule would hurt here: a gate past the clean, wrong labels left in."""
    if rule_of(judgement.rule).needs_canaries:
        passed = _choose(ensemble, judgement.rule, 1.0).parameters["passed"]
        if passed < MIN_PASS_SHARE * unsuspected:
            have = ensemble.canaries[0].choosing.size
            return f"only {passed} examples pass a gate set by {have} canaries"
    if judgement.rule == "random" and judgement.suspect_share >= FEW_SUSPECTS:
        share = f"{100 * judgement.suspect_share:.0f} %"
        return f"the proxies agree on every example, yet {share} of the labels are suspects"
    return None


def _with_every_class(
    ensemble: Ensemble, mask: Mask, *, fixed: bool
) -> tuple[Mask, tuple[str, ...]]:
    """A class below half of its share gets its cleanest back; others give way if α is fixed.

    Below by the labels that proxies were asked about, and by the given ones as far as the choosing
    canaries tell these.
    """
    labels, classes = np.asarray(ensemble.dynamics.labels), len(ensemble.data.classes)
    size = int(mask.sum())
    before, after = (np.bincount(some, minlength=classes) for some in (labels, labels[mask]))
    given = _given_sizes(ensemble, mask, before, after, back=not fixed)
    missing = np.minimum(_below(before, after), _below(*given))
    short = np.flatnonzero(missing > 0)
    if not short.size:
        return mask, ()
    mask, seed = mask.copy(), ensemble.settings.seed
    margin, ids = -ensemble.assessment.shown.wrong, ensemble.dynamics.ids
    for label in short:
        out = np.flatnonzero((labels == label) & ~mask)
        cleanest = top_mask(margin[out], int(missing[label]), seed=seed, ids=ids[out])
        mask[out[cleanest]] = True
    if fixed:  # the least clean of the classes above their share go
        above = np.flatnonzero(np.isin(labels, np.flatnonzero(missing < 0)) & mask)
        above = above[~ensemble.data.trusted[above]]
        surplus = min(int(mask.sum()) - size, above.size)
        worst = top_mask(-margin[above], surplus, seed=seed, ids=ids[above])
        mask[above[worst]] = False
    names = listed([ensemble.data.names[label] for label in short])
    note = f"classes {names} would fall below half of their share and keep their cleanest"
    if short.size == 1:
        note = f"class {names} would fall below half of its share and keeps its cleanest"
    return mask, (note,)


def _below(before: Counts, after: Counts) -> NDArray[np.int64]:
    """How many whole rows each class is below half of its share."""
    least = np.minimum(before, np.ceil(MIN_CLASS_SHARE * after.sum() * before / before.sum()))
    return np.asarray(np.floor(least - after), dtype=np.int64)


def _given_sizes(
    ensemble: Ensemble, mask: Mask, shown: Counts, chosen: Counts, *, back: bool
) -> tuple[Counts, Counts]:
    """How many rows of each class were given, and how many are kept, by estimate.

    Planted labels give way to the rows' own, in proportion to those of choosing canaries; with
    `back`, a canary's row stays unless its own label is a suspect.
    """
    labels, classes = np.asarray(ensemble.dynamics.labels), len(ensemble.data.classes)
    before, after = (counts.astype(np.float64) for counts in (shown, chosen))
    stays = ~ensemble.assessment.given.suspects if back else np.zeros_like(mask)
    for kind in ensemble.canaries:
        at = kind.choosing
        if not at.size:
            continue
        times = len(kind) / at.size
        for counts, seen, own in ((before, at, at), (after, at[mask[at]], at[stays[at]])):
            counts -= times * np.bincount(labels[seen], minlength=classes)
            counts += times * np.bincount(ensemble.data.labels[own], minlength=classes)
    return before.clip(0), after.clip(0)
