"""The one way from data to a decision: train, assess, judge, choose, certify, check for harm."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.checks.judgement import judge
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.files import temporary_folder
from dris.core.large.mapped import release
from dris.core.noise.assessment import usual_confidence
from dris.core.select.rules import CLEAN, CLEAN_THEN_HARD, RECOMMENDED, RULES, Rule, rule_of
from dris.data.findings.leaks import drop_uninformative_columns
from dris.data.labelled import LabelledData
from dris.learn.engines.engine import Engine
from dris.learn.engines.processes import Progress
from dris.learn.store.run_store import Store
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.feature_table import as_features
from dris.pipeline.choice import MIN_ROWS_TO_CLEAN, MIN_ROWS_TO_PRUNE, check_rule, choose_rows
from dris.pipeline.decision import Decision
from dris.pipeline.ensemble import (
    MIN_PICTURE_ACCURACY,
    Ensemble,
    import_dynamics,
    scaling,
    train_ensemble,
)
from dris.pipeline.harm import Harm, Kept, Relabelled, measure_harm
from dris.pipeline.probabilities import import_probabilities
from dris.pipeline.settings import Settings
from dris.pipeline.suspects import list_suspects
from dris.pipeline.wording import ALL_KEPT, EVERYTHING, held_out_change

# Rules that need not know what proxies recorded of their own training rows.
_OUT_OF_FOLD = (RECOMMENDED, CLEAN, CLEAN_THEN_HARD)
MIN_ROWS_TO_TRAIN = 20  # with fewer, or one class, no proxy can be trained


def decide(
    data: LabelledData,
    *,
    keep: float | None = None,
    rule: str | Rule = RECOMMENDED,
    seed: int = 0,
    settings: Settings | None = None,
    dynamics: Dynamics | None = None,
    probabilities: Any = None,
    workers: int | None = None,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    engine: Engine | str = "local",
    progress: Progress | None = None,
    check_harm: bool = True,
    estimator: Any = None,
    fix: bool = False,
) -> Decision:
    """Decide what to train on, which labels to look at, and what can be promised.

    The public verbs are this with a share (`dris.prune`) and without (`dris.clean`); `Options` in
    `dris.pipeline.verbs` says what each parameter is.
    """
    how = replace(Settings(), seed=seed) if settings is None else settings
    if isinstance(rule, Rule):
        rule = rule_of(rule)
        rule = rule.name if rule.name in RULES else rule
    if fix and (keep is not None or rule not in (RECOMMENDED, CLEAN)):
        raise InputError("fix is for clean; leave keep and rule out")
    if dynamics is not None and probabilities is not None:
        raise InputError("dynamics and probabilities both replace proxies; pass one")
    data = drop_uninformative_columns(data)
    ours = dynamics is None and probabilities is None
    check_rule(rule, keep, canaries=ours and bool(how.canaries), n=len(data))
    column = None if rule == RECOMMENDED else rule_of(rule).needs_column
    if ours and column not in (None, "gradient_norm"):
        raise InputError(
            f"the rule needs {column}, which proxies do not record; pass dynamics that hold it"
        )
    one_class = len(data.classes) < 2
    if one_class or (ours and len(data) < MIN_ROWS_TO_TRAIN):
        what = "one class" if one_class else f"{len(data)} examples"
        least = f"two classes and {MIN_ROWS_TO_CLEAN} examples are the least"
        note = f"{what} cannot show wrong labels ({least})"
        nothing = np.zeros(len(data))
        return Decision(data, np.arange(len(data)), nothing, None, EVERYTHING, keep, notes=(note,))
    if dynamics is not None:
        ensemble = import_dynamics(data, dynamics, how)
    elif probabilities is not None:
        ensemble = import_probabilities(data, probabilities, how)
    else:
        if len(data) < MIN_ROWS_TO_PRUNE and rule == RECOMMENDED:
            how = replace(how, canaries=(), matrix=None)
        ensemble = train_ensemble(
            data,
            how,
            workers=workers,
            device=device,
            store=store,
            engine=engine,
            progress=progress,
            only_assessed=rule in _OUT_OF_FOLD,
            gradient_norm=column is not None,
        )
    decision = decide_by(ensemble, keep=keep, rule=rule, fix=fix)
    return follow_unless_harmful(decision, estimator=estimator) if check_harm else decision


def decide_by(
    ensemble: Ensemble,
    *,
    keep: float | None,
    rule: str | Rule = RECOMMENDED,
    fix: bool = False,
    estimate_noise: bool = True,
) -> Decision:
    """What a rule makes of trained proxies, before anybody asked whether that helps.

    Whoever needs the rows alone can do without the noise rate, which takes longest.
    """
    data = ensemble.data
    check_rule(rule, keep, canaries=bool(ensemble.canaries), n=len(data))
    judgement = None
    if ensemble.canaries:
        judgement = judge(
            ensemble.view,
            ensemble.canaries,
            keep=1.0 if keep is None else keep,
            seed=ensemble.settings.seed,
            assessment=ensemble.assessment,
        )
    choice = choose_rows(ensemble, judgement, keep=keep, rule=rule)
    # Where the label can be read off what is learned from, all labels look right.
    tells = estimate_noise and all(leak.left_out for leak in data.leaks)
    decision = Decision(
        data=data,
        kept=np.flatnonzero(choice.kept),
        suspicion=ensemble.assessment.given.suspicion,
        suspects=list_suspects(ensemble, choice.kept),
        rule=choice.rule,
        keep=keep,
        judgement=judgement,
        limits=choice.limits,
        corruption=choice.corruption,
        noise_rate=ensemble.assessment.noise_rate if tells else None,
        contradicted=choice.contradicted,
        notes=(*ensemble.notes, *choice.notes),
        short=choice.short,
        ensemble=ensemble,
        used=choice.used,
    )
    return _fix(decision, ensemble) if fix and choice.rule == CLEAN else decision


def _fix(decision: Decision, ensemble: Ensemble) -> Decision:
    """Keep the dropped whose right label the proxies are sure of, with that label.

    Sure: all of them contradict the given label, and the suggested one is at least as probable as
    it is among the examples that carry it, on average.
    """
    suspects, p = decision.suspects, ensemble.assessment.probabilities
    if suspects is None or p is None:
        return decision
    labels = np.array(decision.data.labels)
    usual = usual_confidence(p, labels)
    all_against = suspects.against == suspects.proxies
    sure = p[suspects.positions, suspects.suggested] >= usual[suspects.suggested]
    other = suspects.suggested != suspects.given
    which = np.flatnonzero(suspects.dropped & all_against & sure & other)
    at = suspects.positions[which]
    labels[at] = suspects.suggested[which]
    dropped = np.array(suspects.dropped)
    dropped[which] = False
    return replace(
        decision,
        kept=np.union1d(decision.kept, at),
        fixed=labels,
        suspects=replace(suspects, dropped=dropped),
        limits=(),
        notes=(*decision.notes, "no limit covers labels that were changed"),
    )


def follow_unless_harmful(decision: Decision, *, estimator: Any = None) -> Decision:
    """The decision with what following it changes; everything is kept where models lose by it.

    With an explicit α the size is honoured: only a rule that loses to a random subset of that size
    is replaced, by that subset.
    """
    data, ensemble = decision.data, decision.ensemble
    few = len(data) < (MIN_ROWS_TO_CLEAN if decision.keep is None else MIN_ROWS_TO_PRUNE)
    if ensemble is not None and ensemble.table.ndim != 2 and decision.rule == CLEAN:
        right = ensemble.held_out_accuracy
        if right is not None and right < MIN_PICTURE_ACCURACY:
            why = (
                f"the proxies predict {right:.0%} of the held-out labels, and whether dropping "
                "helps is not measured with networks"
            )
            return _keep_everything(decision, None, why)
    if few or decision.as_given or ensemble is None or ensemble.table.ndim != 2:
        return decision
    if not ensemble.table.shape[1]:
        note = "whether following it helps was not measured: there is nothing to learn from"
        return replace(decision, notes=(*decision.notes, note))
    harm = _measure(decision, ensemble, estimator)
    if harm is None:
        return decision
    loses = harm.loses and decision.rule == CLEAN
    if decision.keep is None and (harm.says == "harms" or loses):
        do = "dropping" if decision.fixed is None else "dropping or changing"
        what = "do harm" if harm.says == "harms" else "rather harm than help"
        return _keep_everything(decision, harm, f"{do} them would {what} ({held_out_change(harm)})")
    lost = harm.against_random is not None and harm.against_random.below_zero
    if lost and decision.rule != "random":
        drawn = decide_by(ensemble, keep=decision.keep, rule="random")
        note = (
            f"{decision.rule} loses to a random subset of that size ({harm.against_random} points),"
            f" so one is taken; the change that is printed is by {decision.rule}"
        )
        return replace(drawn, harm=harm, notes=(*drawn.notes, note))
    return replace(decision, harm=harm)


def _measure(decision: Decision, ensemble: Ensemble, estimator: Any) -> Harm | None:
    """What changes for models that train on what is kept, the decision made again in each fold."""
    data, x, inner = decision.data, ensemble.table, _inner_settings(decision, ensemble)

    def again(at: NDArray[np.int64]) -> Kept:
        part = LabelledData.of(
            x[at],
            data.labels[at],
            classes=data.classes,
            ids=data.ids[at],
            trusted=data.trusted[at],
        )
        release(x)  # of many rows some thousands are looked at
        if ensemble.features is None:
            part = replace(part, features=data.features)
        trained = train_ensemble(
            part,
            inner,
            workers=1,
            only_assessed=ensemble.only_assessed,
            gradient_norm="gradient_norm" in ensemble.dynamics.columns,
        )
        once = decide_by(
            trained,
            keep=decision.keep,
            rule=decision.used or decision.rule,
            fix=decision.fixed is not None,
            estimate_noise=False,
        )
        return _trained_on(once, once.kept, at)

    def as_decided(at: NDArray[np.int64]) -> Kept:
        return _trained_on(decision, at[np.isin(at, decision.kept)], np.arange(len(data)))

    for side in (ensemble.dynamics, ensemble.dynamics.out_of_fold):
        if side is not None:
            release(side.columns["loss"])  # it lies in the store, whole
    with temporary_folder() as folder:  # where a large table goes, of which a sample is asked
        return measure_harm(
            as_features(Data(x, data.labels), scaling(data, ensemble.features), folder).x,
            data.labels,
            data.names,
            again,
            as_decided=as_decided if ensemble.imported else None,
            random_too=decision.keep is not None,
            seed=ensemble.settings.seed,
            estimators={} if estimator is None else {"estimator": estimator},
        )


def _inner_settings(decision: Decision, ensemble: Ensemble) -> Settings:
    """How proxies are trained inside a fold: as the data's own, without what is not looked at."""
    settings = ensemble.settings
    epochs = min(settings.epochs, ensemble.dynamics.scored_epoch + 1)
    gated = decision.used is not None and decision.used.needs_canaries
    models = settings.models if ensemble.dynamics.out_of_fold is not None else ()
    if len(set(models)) > 1:  # as many as the data would be given
        models = ()
    return replace(
        settings,
        models=models,
        encoder=None,  # the features are there
        proxies=min(3, settings.proxies),
        epochs=max(epochs, 2),
        scored_epoch=None,
        canaries=settings.canaries if gated else (),
        matrix=settings.matrix if gated and settings.canaries else None,
    )


def _trained_on(decision: Decision, kept: NDArray[np.int64], places: NDArray[np.int64]) -> Kept:
    """Where those kept lie among the places of a larger whole, changed labels apart."""
    if decision.fixed is None:
        return places[kept]
    changed = decision.changed[kept]
    at = kept[changed]
    return Relabelled(places[kept[~changed]], places[at], decision.labels[at])


def _keep_everything(decision: Decision, harm: Harm | None, why: str) -> Decision:
    suspects = decision.suspects
    if suspects is not None:
        suspects = replace(suspects, dropped=np.zeros(len(suspects), dtype=np.bool_))
    return replace(
        decision,
        kept=np.arange(len(decision.data)),
        suspects=suspects,
        rule=EVERYTHING,
        used=None,
        limits=(),
        fixed=None,
        harm=harm,
        short=0,
        notes=(*decision.notes, f"{why}{ALL_KEPT}; what looks wrong is listed"),
    )
