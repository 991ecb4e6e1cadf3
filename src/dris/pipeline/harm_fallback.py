"""Whether a decision is followed: everything is kept where models lose by it."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.large.mapped import let_go
from dris.core.select.rules import CLEAN, rule_of
from dris.core.subset import Subset
from dris.core.temporaries import temporary_folder
from dris.data.labelled import LabelledData
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.feature_table import as_features
from dris.pipeline.by_scores import decide_scored
from dris.pipeline.choice import FEW, LITTLE
from dris.pipeline.decision import Decision
from dris.pipeline.harm import Harm, Kept, Relabelled, measure_harm
from dris.pipeline.scored import HALF, Scored, foretold, scaling, score_data
from dris.pipeline.settings import Settings
from dris.pipeline.wording import ALL_KEPT, EVERYTHING, held_out_change


def with_harm(decision: Decision, *, estimator: Any = None) -> Decision:
    """The decision with what following it changes; everything is kept where models lose by it.

    With an explicit α the size is honoured: only a rule that loses to a random subset of that size
    is replaced, by that subset.
    """
    data, scored = decision.data, decision.scored
    few = len(data) < (FEW if decision.keep is None else LITTLE)
    if scored is not None and scored.table.ndim != 2 and decision.rule == CLEAN:
        right = foretold(scored.dynamics)
        if right is not None and right < HALF:
            why = (
                f"the proxies foretell {right:.0%} of the labels, and whether dropping helps is "
                "not measured with networks"
            )
            return _everything(decision, None, why)
    if few or decision.as_given or scored is None or scored.table.ndim != 2:
        return decision
    if not scored.table.shape[1]:
        note = "whether following it helps was not measured: there is nothing to learn from"
        return replace(decision, notes=(*decision.notes, note))
    harm = _measured(decision, scored, estimator)
    if harm is None:
        return decision
    loses = harm.loses and decision.rule == CLEAN
    if decision.keep is None and (harm.says == "harms" or loses):
        do = "dropping" if decision.fixed is None else "dropping or changing"
        what = "do harm" if harm.says == "harms" else "rather harm than help"
        return _everything(decision, harm, f"{do} them would {what} ({held_out_change(harm)})")
    lost = harm.against_random is not None and harm.against_random.below_zero
    if lost and decision.rule != "random":
        lot = decide_scored(scored, keep=decision.keep, rule="random")
        note = (
            f"{decision.rule} loses to a random subset of that size ({harm.against_random} points),"
            f" so one is taken; the change that is printed is by {decision.rule}"
        )
        return replace(lot, harm=harm, notes=(*lot.notes, note))
    return replace(decision, harm=harm)


def _measured(decision: Decision, scored: Scored, estimator: Any) -> Harm | None:
    """What changes for models that train on what is kept, the decision made again in each fold."""
    data, x, inner = decision.data, scored.table, _inside(decision, scored)

    def again(at: NDArray[np.int64]) -> Kept:
        part = LabelledData.of(
            x[at],
            data.labels[at],
            classes=data.classes,
            ids=data.ids[at],
            trusted=data.trusted[at],
        )
        let_go(x)  # of many rows some thousands are looked at
        if scored.features is None:
            part = replace(part, features=data.features)
        seen = score_data(
            part,
            inner,
            workers=1,
            only_judged=scored.only_judged,
            gradient_norm="gradient_norm" in scored.dynamics.columns,
        )
        fix = decision.fixed is not None
        once = decide_scored(seen, keep=decision.keep, rule=decision.used, fix=fix)
        return _trained_on(once, once.kept, at)

    def as_decided(at: NDArray[np.int64]) -> Kept:
        return _trained_on(decision, at[np.isin(at, decision.kept)], np.arange(len(data)))

    for side in (scored.dynamics, scored.dynamics.out_of_fold):
        if side is not None:
            let_go(side.columns["loss"])  # it lies in the store, whole
    with temporary_folder() as folder:  # where a large table goes, of which a sample is asked
        return measure_harm(
            as_features(Data(x, data.labels), scaling(data, scored.features), folder).x,
            data.labels,
            data.names,
            again,
            as_decided=as_decided if scored.imported else None,
            random_too=decision.keep is not None,
            seed=scored.settings.seed,
            estimators={} if estimator is None else {"estimator": estimator},
        )


def _inside(decision: Decision, scored: Scored) -> Settings:
    """How proxies are trained inside a fold: as the data's own, without what is not looked at."""
    epochs = min(scored.settings.epochs, scored.dynamics.scored_epoch + 1)
    canaries = scored.settings.canaries if rule_of(decision.used).needs_canaries else ()
    models = scored.settings.models if scored.dynamics.out_of_fold is not None else ()
    if len(set(models)) > 1:  # as many as the data would be given
        models = ()
    return replace(
        scored.settings,
        models=models,
        encoder=None,  # the features are there
        proxies=min(3, scored.settings.proxies),
        epochs=max(epochs, 2),
        scored_epoch=None,
        canaries=canaries,
        matrix=scored.settings.matrix if canaries else None,
    )


def _trained_on(decision: Decision, kept: NDArray[np.int64], places: NDArray[np.int64]) -> Kept:
    """Where those kept lie among the places of a larger whole, changed labels apart."""
    if decision.fixed is None:
        return places[kept]
    changed = decision.changed[kept]
    at = kept[changed]
    return Relabelled(places[kept[~changed]], places[at], decision.labels[at])


def _everything(decision: Decision, harm: Harm | None, why: str) -> Decision:
    note = f"{why}{ALL_KEPT}; what looks wrong is listed"
    suspects = decision.suspects
    if suspects is not None:
        suspects = replace(suspects, dropped=np.zeros(len(suspects), dtype=np.bool_))
    everyone = np.arange(len(decision.data))
    judgement = decision.judgement
    if judgement is not None:
        used = Subset(everyone, EVERYTHING, {}, len(decision.data))
        judgement = replace(judgement, subset=used, certificates=())
    return replace(
        decision,
        kept=everyone,
        suspects=suspects,
        rule=EVERYTHING,
        limits=(),
        judgement=judgement,
        fixed=None,
        harm=harm,
        short=0,
        notes=(*decision.notes, note),
    )
