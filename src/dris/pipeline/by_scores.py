"""A decision about data whose proxies have trained: judge, choose, certify, in this order."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dris.core.checks.judgement import judge
from dris.core.noise.noise_rate import NoiseRate, estimate_noise_rate
from dris.core.scores.suspicion import unseen_probabilities, usual_confidence
from dris.core.select.rules import CLEAN, RECOMMENDED, Rule
from dris.core.subset import Subset
from dris.pipeline.choice import check_rule, choice_of
from dris.pipeline.decision import Decision
from dris.pipeline.scored import Scored
from dris.pipeline.suspects import suspects_of, suspicion_of


def decide_scored(
    scored: Scored, *, keep: float | None, rule: str | Rule = RECOMMENDED, fix: bool = False
) -> Decision:
    """What a rule makes of the scores, before anybody asked whether that helps."""
    check_rule(rule, keep, canaries=bool(scored.canaries), n=len(scored.data))
    judgement = None
    if scored.canaries:
        judgement = judge(
            scored.view,
            scored.canaries,
            keep=1.0 if keep is None else keep,
            at_most=scored.settings.at_most,
            seed=scored.settings.seed,
        )
    corruption = None if judgement is None else judgement.corruption
    choice = choice_of(scored, judgement, keep=keep, rule=rule, corruption=corruption)
    kept = np.flatnonzero(choice.kept)
    if judgement is not None:  # what it says of a subset is about the rows that are used
        used = Subset(kept, choice.rule, {}, len(scored.data))
        usable = None if judgement.subset is None else used
        judgement = replace(judgement, subset=usable, certificates=choice.limits)
    suspicion = suspicion_of(scored)
    found = Decision(
        data=scored.data,
        kept=kept,
        suspicion=suspicion,
        suspects=suspects_of(scored, suspicion, choice.kept),
        rule=choice.rule,
        keep=keep,
        judgement=judgement,
        limits=choice.limits,
        corruption=choice.corruption,
        noise_rate=_noise_rate(scored),
        contested=contested_share(scored, choice.kept),
        notes=(*scored.notes, *choice.notes),
        short=choice.short,
        scored=scored,
        asked=rule,
    )
    return _fixed(found) if fix and choice.rule == CLEAN else found


def _fixed(decision: Decision) -> Decision:
    """The dropped whose right label the proxies are sure of are kept with that label.

    Sure: all of them contradict the given label, and the suggested one is at least as probable as
    it is among the examples that carry it, on average.
    """
    scored, suspects = decision.scored, decision.suspects
    p = None if scored is None else scored.unseen()
    if scored is None or suspects is None or p is None:
        return decision
    labels = np.array(decision.data.labels)
    usual = usual_confidence(p, labels)
    all_say = suspects.contradicted == suspects.proxies
    sure = p[suspects.positions, suspects.suggested] >= usual[suspects.suggested]
    other = suspects.suggested != suspects.given
    which = np.flatnonzero(suspects.dropped & all_say & sure & other)
    at = suspects.positions[which]
    labels[at] = suspects.suggested[which]
    dropped = np.array(suspects.dropped)
    dropped[which] = False
    judgement = decision.judgement
    if judgement is not None:
        judgement = replace(judgement, certificates=())
    return replace(
        decision,
        kept=np.union1d(decision.kept, at),
        fixed=labels,
        suspects=replace(suspects, dropped=dropped),
        limits=(),
        judgement=judgement,
        notes=(*decision.notes, "no limit covers labels that were changed"),
    )


def contested_share(scored: Scored, kept: NDArray[np.bool_]) -> float:
    """The share of kept labels that strangers find less likely than another; 0 without folds."""
    p = scored.unseen()
    if p is None or not kept.any():
        return 0.0
    return float((p.argmax(axis=1) != scored.data.labels)[kept].mean())


def _noise_rate(scored: Scored) -> NoiseRate | None:
    """The range of wrong labels, canaries aside: those are wrong on purpose.

    None is given where the label can be read off what is learned from: all of them look right.
    """
    if any(not leak.left_out for leak in scored.data.leaks):
        return None
    p = unseen_probabilities(scored.dynamics, len(scored.data.classes))
    if p is None:
        return None
    own = ~scored.planted()
    return estimate_noise_rate(p[own], scored.data.labels[own])
