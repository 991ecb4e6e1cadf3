"""Which rows to train on, and the limits on exactly those rows.

Every step is blind to the certifying canaries: a canary is one example among others until the last
line, where canaries leave the subset. Only then are limits computed.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.data_limit import CorruptionLimit
from dris.core.certify.protocol import data_limits, subset_limits
from dris.core.certify.subset_limit import ContaminationLimit
from dris.core.checks.judgement import Judgement
from dris.core.checks.noise_checks import FEW_DOUBTED
from dris.core.errors import InputError
from dris.core.scores.suspicion import suspicion
from dris.core.select.gate import canaries_needed
from dris.core.select.rules import CLEAN, CLEAN_THEN_HARD, RECOMMENDED, Rule, choose, rule_of
from dris.core.subset import top_mask
from dris.core.validate import count_of
from dris.pipeline.scored import Scored
from dris.pipeline.suspects import contradicted_labels
from dris.pipeline.wording import EVERYTHING

Mask = NDArray[np.bool_]
Counts = NDArray[np.int64] | NDArray[np.float64]
CLEANEST = "aum_mean"  # needs no gate: the judgement's own answer to too few canaries
LITTLE = 200  # examples; with fewer, keeping a small share lost more than it won on digits
FEW = 50  # examples; with fewer nothing is dropped
PASS_SHARE = 0.75  # of the undoubted; a gate that lets fewer through was set by stray canaries
HALF = 0.5  # of its share, which a class keeps at least


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """Rows to train on, how they came about, and what is certified of them.

    Attributes:
        rule: The rule that was used, "everything" where none was.
        kept: True for the rows to train on.
        limits: On wrong labels among exactly those, one per kind of canaries.
        corruption: On wrong labels in all of the data, likewise.
        short: How many fewer than asked for pass the gate.
        notes: What was done in place of what was asked, a sentence each.
    """

    rule: str
    kept: Mask
    limits: tuple[ContaminationLimit, ...] = ()
    corruption: tuple[CorruptionLimit, ...] = ()
    short: int = 0
    notes: tuple[str, ...] = ()


def check_rule(rule: str | Rule, keep: float | None, *, canaries: bool, n: int) -> None:
    """Refuse, before anything trains, what could not be chosen afterwards."""
    if keep is not None:
        count_of(keep, n, "keep")
    if rule == RECOMMENDED:
        return
    named = rule_of(rule)
    if named.needs_canaries and not canaries:
        raise InputError(
            f"the rule {named.name} needs canaries to set its gate, and none are planted; let dris "
            "train the proxies with canaries, or take a rule such as rank_variance"
        )


def choice_of(
    scored: Scored,
    judgement: Judgement | None,
    *,
    keep: float | None,
    rule: str | Rule,
    corruption: tuple[CorruptionLimit, ...] | None = None,
) -> Choice:
    """The rows that a rule keeps at α, or all but the suspects, and the limits on them."""
    if corruption is None:
        corruption = corruption_of(scored)
    used, share, notes = _plan(scored, judgement, rule, keep)
    everyone = np.ones(len(scored.data), dtype=np.bool_)
    if used == EVERYTHING:
        return Choice(EVERYTHING, everyone, (), corruption, notes=notes)
    dynamics, seed = scored.view, scored.settings.seed
    subset = choose(used, dynamics, keep=share, choosing=scored.choosing(), seed=seed)
    mask = subset.mask() | scored.data.trusted
    if rule == RECOMMENDED or used == CLEAN:
        mask, said = _with_every_class(scored, mask, fixed=keep is not None)
        notes = (*notes, *said)
    chosen = replace(subset, indices=np.flatnonzero(mask), tied=0)
    back = np.zeros_like(mask)
    if keep is None:  # a canary's own label is judged like any other
        back = scored.planted() & ~contradicted_labels(scored)
    kept = (mask & ~scored.planted()) | back
    if not kept.any():
        return Choice(EVERYTHING, everyone, (), corruption, notes=(*notes, "nothing would be left"))
    notes = (*notes, *_vanished(scored, kept))
    limits: tuple[ContaminationLimit, ...] = ()
    leaks = [leak for leak in scored.data.leaks if not leak.left_out]
    if leaks:  # proxies agree with every given label then, planted ones aside
        named = ", ".join(leak.column for leak in leaks)
        corruption = ()
        notes = (
            *notes,
            "neither how many labels are wrong nor a limit can be told while the label can be "
            f"read off {named}",
        )
    if corruption and (mask & ~scored.planted()).any():
        limits = subset_limits(chosen, scored.canaries, corruption, rows=back)
    name, short = rule_of(used).name, int(subset.parameters.get("short", 0))
    return Choice(name, kept, limits, corruption, short, notes)


def _vanished(scored: Scored, kept: Mask) -> tuple[str, ...]:
    """Classes of which nothing is left, of the labels as they were given, in a sentence."""
    labels = scored.data.labels
    gone = np.setdiff1d(labels, labels[kept])
    names = ", ".join(scored.data.names[label] for label in gone)
    return (f"no example of {names} is kept",) if gone.size else ()


def corruption_of(scored: Scored) -> tuple[CorruptionLimit, ...]:
    """The limit on wrong labels in the data, one per kind of canaries."""
    if not scored.canaries:
        return ()
    score = -suspicion(scored.view)
    return data_limits(score, scored.canaries, at_most=scored.settings.at_most)


def _plan(
    scored: Scored, judgement: Judgement | None, rule: str | Rule, keep: float | None
) -> tuple[str | Rule, float, tuple[str, ...]]:
    """The rule to use, the share it keeps, and what was put in place of what."""
    n, share = len(scored.data), 1.0 if keep is None else keep
    least = FEW if keep is None else LITTLE
    if n < least and rule == RECOMMENDED:
        return EVERYTHING, 1.0, (f"{n} examples are too few to drop any ({least} are the least)",)
    if rule == RECOMMENDED and judgement is not None and judgement.subset is None:
        return EVERYTHING, 1.0, (f"no rule is safe with these proxies ({judgement.reason})",)
    if rule == RECOMMENDED and keep is None:
        if "correct" not in scored.dynamics.columns:
            return EVERYTHING, 1.0, ("these dynamics do not say which labels proxies contradict",)
        return CLEAN, 1.0, ()
    if judgement is None:
        if rule != RECOMMENDED:
            return rule, share, ()
        if scored.dynamics.out_of_fold is not None:
            return CLEAN_THEN_HARD, share, ()
        cleanest = CLEANEST if "margin" in scored.dynamics.columns else "rank_variance"
        return cleanest, share, (f"no canaries: {cleanest} in place of a recommendation",)
    undoubted = (1 - judgement.doubted) * float((~scored.planted()).mean())
    used = judgement.rule if rule == RECOMMENDED else rule
    why = _lacking(scored, rule_of(used)) if rule_of(used).needs_canaries else None
    if rule == RECOMMENDED and why is None:
        why = _unfit(scored, judgement, undoubted * n)
    if why is None and (rule != RECOMMENDED or used != CLEANEST):
        return used, share, ()
    # What most proxies contradict is never among the cleanest, however much may be kept.
    notes = () if why is None else (f"{why}, so the cleanest by margin are kept",)
    return CLEANEST, min(share, max(undoubted, 1 / n)), notes


def _lacking(scored: Scored, rule: Rule) -> str | None:
    """Why there can be no gate."""
    need = canaries_needed(rule.recall)
    have = scored.canaries[0].choosing.positions.size
    if have >= need:
        return None
    return f"a gate needs {need} choosing canaries and {len(scored.data)} examples gave {have}"


def _unfit(scored: Scored, judgement: Judgement, undoubted: float) -> str | None:
    """Why the recommended rule would hurt here: a gate past the clean, wrong labels left in."""
    if rule_of(judgement.rule).needs_canaries:
        dynamics, seed = scored.view, scored.settings.seed
        open_ = choose(judgement.rule, dynamics, keep=1.0, choosing=scored.choosing(), seed=seed)
        passed = open_.parameters["passed"]
        if passed < PASS_SHARE * undoubted:
            have = scored.canaries[0].choosing.positions.size
            return f"only {passed} examples pass a gate set by {have} canaries"
    if judgement.rule == "random" and judgement.doubted >= FEW_DOUBTED:
        return f"nothing is contested, yet {judgement.doubted:.0%} of the labels are doubted"
    return None


def _with_every_class(scored: Scored, mask: Mask, *, fixed: bool) -> tuple[Mask, tuple[str, ...]]:
    """A class below half of its share gets its cleanest back; others give way if α is fixed.

    It must be below by the labels that proxies were shown, and by the given ones as far as the
    choosing canaries tell these: nothing depends on who is a certifying one.
    """
    labels, classes = np.asarray(scored.dynamics.labels), len(scored.data.classes)
    size = int(mask.sum())
    before, after = (np.bincount(some, minlength=classes) for some in (labels, labels[mask]))
    given = _given_sizes(scored, mask, before, after, back=not fixed)
    missing = np.minimum(_below(before, after), _below(*given))
    short = np.flatnonzero(missing > 0)
    if not short.size:
        return mask, ()
    mask, seed = mask.copy(), scored.settings.seed
    margin, ids = -suspicion(scored.view), scored.dynamics.ids
    for label in short:
        out = np.flatnonzero((labels == label) & ~mask)
        cleanest, _ = top_mask(margin[out], int(missing[label]), seed=seed, ids=ids[out])
        mask[out[cleanest]] = True
    if fixed:  # the least clean of the classes above their share go
        above = np.flatnonzero(np.isin(labels, np.flatnonzero(missing < 0)) & mask)
        above = above[~scored.data.trusted[above]]
        surplus = min(int(mask.sum()) - size, above.size)
        worst, _ = top_mask(-margin[above], surplus, seed=seed, ids=ids[above])
        mask[above[worst]] = False
    names = ", ".join(scored.data.names[label] for label in short)
    if short.size == 1:
        note = f"class {names} would fall below half of its share and keeps its cleanest"
    else:
        note = f"classes {names} would fall below half of their share and keep their cleanest"
    return mask, (note,)


def _below(before: Counts, after: Counts) -> NDArray[np.int64]:
    """How many whole rows each class is below half of its share."""
    least = np.minimum(before, np.ceil(HALF * after.sum() * before / before.sum()))
    return np.asarray(np.floor(least - after), dtype=np.int64)


def _given_sizes(
    scored: Scored, mask: Mask, shown: Counts, chosen: Counts, *, back: bool
) -> tuple[Counts, Counts]:
    """How many rows of each class were given, and how many are kept, by estimate.

    Planted labels are taken out and the rows' own put in their place, of choosing canaries as they
    are, of the others as many again; with `back`, a canary's row stays unless its own label is
    contradicted.
    """
    labels, classes = np.asarray(scored.dynamics.labels), len(scored.data.classes)
    before, after = (counts.astype(np.float64) for counts in (shown, chosen))
    stays = ~contradicted_labels(scored) if back and scored.canaries else np.zeros_like(mask)
    for kind in scored.canaries:
        at = kind.choosing.positions
        if not at.size:
            continue
        times = len(kind) / at.size
        for counts, seen, own in ((before, at, at), (after, at[mask[at]], at[stays[at]])):
            counts -= times * np.bincount(labels[seen], minlength=classes)
            counts += times * np.bincount(scored.data.labels[own], minlength=classes)
    return before.clip(0), after.clip(0)
