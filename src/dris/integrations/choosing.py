"""What to train on, of data in memory: the command line's steps, and a way out of little data.

A command may stop and ask for other options; a `fit` inside a cross-validation should not. So here
every step that cannot be taken has a stated replacement, and the choice says which were used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dris.core.checks import count_of
from dris.core.choose.gate import DEFAULT_GATED, canaries_needed
from dris.core.choose.importance import importance
from dris.core.choose.rules import RULES
from dris.core.choose.selection import top_mask
from dris.core.errors import InputError
from dris.core.judge.judgement import Judgement
from dris.core.judge.noise_checks import FEW_DOUBTED
from dris.core.scores.formulas import aum_mean, rank_variance
from dris.data.labelled import LabelledData
from dris.decide.scored import Scored, Settings, score_data

RECOMMENDED = "recommended"
EVERYTHING = "everything"
CLEANEST = "aum_mean"  # needs no gate: the verdict's own answer to too few canaries
LITTLE = 200  # examples; with fewer, choosing lost more than it won on digits
PASS_SHARE = 0.75  # of the undoubted; a gate that lets fewer through was set by stray canaries


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What to train on, and how it came about.

    Attributes:
        weights: How much each example counts, 0 for those left out, 1 on average for the others.
        rule: The rule that was used, "everything" when none was.
        scores: Every score by name; empty when no proxy trained.
        verdict: What the canaries say; None when none were planted.
        notes: What was done in place of what was asked, a sentence each.
    """

    weights: NDArray[np.float64]
    rule: str
    scores: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    verdict: Judgement | None = None
    notes: tuple[str, ...] = ()


def make_choice(
    data: LabelledData,
    settings: Settings,
    *,
    keep: float,
    rule: str = RECOMMENDED,
    weight: bool = False,
    workers: int | None = None,
    store: str | Path | None = None,
) -> Choice:
    """Score the data, judge it, and choose what to train on; every class keeps something.

    Args:
        data: At least 200 examples of two classes, or all of them are kept.
        settings: Of proxies and canaries.
        keep: α, the largest share to keep.
        rule: Any of the command line's; "recommended" is the verdict's.
        weight: Whether those kept count by their disagreement (paper, eq. 7) or alike.
        workers: Processes to train in, all cores unless given.
        store: Folder that keeps finished proxies.

    >>> few = LabelledData.of(np.eye(2), [0, 1], classes=(0, 1))
    >>> choice = make_choice(few, Settings(), keep=0.5)
    >>> choice.rule, choice.weights.tolist()
    ('everything', [1.0, 1.0])
    """
    if rule not in (RECOMMENDED, *RULES):
        raise InputError(f"rule must be one of {RECOMMENDED}, {', '.join(RULES)}, got {rule!r}")
    count_of(keep, len(data), "keep")
    if len(data.classes) < 2 or len(data) < LITTLE:
        what = "one class" if len(data.classes) < 2 else f"{len(data)} examples"
        need = f"two classes and {LITTLE} examples are the least"
        return Choice(
            np.ones(len(data)), EVERYTHING, notes=(f"{what} cannot show wrong labels ({need})",)
        )
    scored = score_data(data, settings, workers=workers, store=store)
    verdict = scored.judge(keep)
    used, share, notes = _plan(scored, verdict, rule, keep)
    kept = np.ones(len(data), dtype=np.bool_)
    if used != EVERYTHING:
        kept[:] = False
        kept[scored.kept(scored.choose(used, share))] = True
        kept, vanished = _with_every_class(scored, kept, keep)
        notes = (*notes, *vanished)
    weights = kept.astype(np.float64)
    if weight:
        q = importance(rank_variance(scored.dynamics)[kept]).probabilities
        weights[kept] = q * q.size
    return Choice(weights, used, scored.scores(), verdict, notes)


def _plan(
    scored: Scored, verdict: Judgement, rule: str, keep: float
) -> tuple[str, float, tuple[str, ...]]:
    """The rule to use, the share it keeps, and what was put in place of what."""
    n, planted = len(scored.data), scored.planted()
    undoubted = (1 - verdict.doubted) * float((~planted).mean())
    if rule == RECOMMENDED:
        used: str = verdict.rule
        if used == "train other proxies":
            return EVERYTHING, 1.0, (f"no rule is safe with these proxies ({verdict.reason})",)
        why = _unfit(scored, verdict, undoubted * n)
    else:
        used, why = rule, _lacking(scored) if RULES[rule].needs_canaries else None
    if why is None and (rule != RECOMMENDED or used != CLEANEST):
        return used, keep, ()
    # What most proxies contradict is never among the cleanest, however much may be kept.
    notes = () if why is None else (f"{why}, so the cleanest by margin are kept",)
    return CLEANEST, min(keep, max(undoubted, 1 / n)), notes


def _lacking(scored: Scored) -> str | None:
    """Why there can be no gate."""
    need = canaries_needed(DEFAULT_GATED.recall, DEFAULT_GATED.confidence)
    have = scored.canaries[0].choosing.positions.size
    if have >= need:
        return None
    return f"a gate needs {need} choosing canaries and {len(scored.data)} examples gave {have}"


def _unfit(scored: Scored, verdict: Judgement, undoubted: float) -> str | None:
    """Why the recommended rule would hurt here: a gate past the clean, wrong labels left in."""
    if verdict.rule in RULES and RULES[verdict.rule].needs_canaries:
        passed = scored.choose(verdict.rule, 1.0).parameters["passed"]
        if passed < PASS_SHARE * undoubted:
            have = scored.canaries[0].choosing.positions.size
            return f"only {passed} examples pass a gate set by {have} canaries"
    if verdict.rule == "random" and verdict.doubted >= FEW_DOUBTED:
        return f"nothing is contested, yet {verdict.doubted:.0%} of the labels are doubted"
    return None


def _with_every_class(
    scored: Scored, kept: NDArray[np.bool_], keep: float
) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Each class that would vanish keeps its own share of its cleanest."""
    labels, margin = scored.data.labels, aum_mean(scored.dynamics)
    gone = np.setdiff1d(labels, labels[kept])
    for label in gone:
        members = np.flatnonzero(labels == label)
        count = max(1, int(keep * members.size))
        cleanest, _ = top_mask(margin[members], count, seed=scored.settings.seed, ids=None)
        kept[members[cleanest]] = True
    if not gone.size:
        return kept, ()
    names = ", ".join(scored.data.names[label] for label in gone)
    return kept, (f"class {names} would vanish and keeps its cleanest",)
