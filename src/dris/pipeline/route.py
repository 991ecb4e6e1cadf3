"""The one way from data to a decision: train, assess, judge, choose, certify, check for harm."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from dris.core.checks.judgement import Judgement, judge
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError, suggest_name
from dris.core.files import temporary_folder
from dris.core.large.mapped import release
from dris.core.noise.assessment import SUSPECT
from dris.core.noise.posterior import fit_posterior, fitting_order
from dris.core.noise.views import Views, join_views
from dris.core.select.rules import CLEAN, CLEAN_THEN_HARD, RECOMMENDED, RULES, Rule, rule_of
from dris.core.streams import rng_for
from dris.data.findings import drop_uninformative_columns
from dris.data.labelled import LabelledData, ReadKeywords
from dris.data.reader import read_data
from dris.learn.engines.processes import Progress, enter_phase
from dris.learn.engines.tasks import Engine
from dris.learn.store.run_store import Store
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.stack import as_features
from dris.learn.trees import nested_heads, nested_trees
from dris.pipeline.choice import MIN_ROWS_TO_CLEAN, MIN_ROWS_TO_PRUNE, check_rule, choose_rows
from dris.pipeline.decision import P_WRONG, SMOOTHING, Decision, check_weighting
from dris.pipeline.ensemble import Ensemble, import_dynamics, scaling, train_ensemble
from dris.pipeline.harm import (
    FOLDS,
    HEADS,
    Again,
    Harm,
    Positions,
    Training,
    measure_harm,
    resample,
)
from dris.pipeline.lists import KEEP_ONE, LIST, check_near_duplicates, keep_one, list_suspects
from dris.pipeline.noise_check import NoiseCheck, check_limit, check_noise
from dris.pipeline.probabilities import import_probabilities
from dris.pipeline.settings import Settings
from dris.pipeline.wording import ALL_KEPT, EVERYTHING, MIN_ROWS_TO_MEASURE

# Rules that need not know what proxies recorded of their own training rows.
_OUT_OF_FOLD = (RECOMMENDED, CLEAN, CLEAN_THEN_HARD)
MAX_CLASSES_DECIDED_AGAIN = 100  # with more, making the decision again takes too long
MIN_FIX_PROBABILITY = 0.9  # of the suggested label, from which on a wrong one is replaced
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
    """What `dris.prune` is with a share, and `dris.clean` without; see `Options`."""
    how = Settings(seed=seed) if settings is None else settings
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
    enter_phase(progress, "decision")
    decision = decide_by(ensemble, keep=keep, rule=rule, fix=fix)
    enter_phase(progress, "harm check")
    return follow_unless_harmful(decision, estimator=estimator) if check_harm else decision


def decide_by(
    ensemble: Ensemble,
    *,
    keep: float | None,
    rule: str | Rule = RECOMMENDED,
    fix: bool = False,
) -> Decision:
    """What a rule makes of trained proxies, before anybody asked whether that helps."""
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
            names=data.names,
        )
    choice = choose_rows(ensemble, judgement, keep=keep, rule=rule)
    held = ensemble.assessment
    hard = np.flatnonzero(held.contradicted & ~held.given.suspects & ~data.trusted)
    # Where the label can be read off what is learned from, all labels look right.
    tells = all(leak.left_out for leak in data.leaks)
    decision = Decision(
        data=data,
        kept=np.flatnonzero(choice.kept),
        p_wrong=held.given.wrong,
        sample_weight=held.training_weights,
        suspects=list_suspects(ensemble, choice.kept, judgement),
        rule=choice.rule,
        keep=keep,
        judgement=judgement,
        limits=choice.limits,
        corruption=choice.corruption,
        noise_rate=held.noise_rate if tells else None,
        contradicted=choice.contradicted,
        notes=(*ensemble.notes, *choice.notes),
        short=choice.short,
        ensemble=ensemble,
        used=choice.used,
        hard=hard[np.argsort(-held.given.wrong[hard], kind="stable")],
        natural=_is_natural(ensemble, judgement),
    )
    return _fix(decision, ensemble) if fix and choice.rule == CLEAN else decision


def _is_natural(ensemble: Ensemble, judgement: Judgement | None) -> bool:
    """Whether errors go to lookalikes, or are more plausible than planted ones and not uniform."""
    posterior = ensemble.assessment.posterior
    families = {} if posterior is None else posterior.families
    if families.get("lookalike", 0.0) > SUSPECT or ensemble.data.answers is not None:
        return True  # several annotators share mistakes, which hides them
    regime = None if judgement is None else judgement.regime
    return regime == "natural noise" and families.get("uniform", 0.0) <= SUSPECT


def _fix(decision: Decision, ensemble: Ensemble) -> Decision:
    """Keep the dropped whose true label is as good as known, with that label."""
    suspects, assessment = decision.suspects, ensemble.assessment
    if suspects is None or not assessment.calibrated:
        return decision
    labels = np.array(decision.data.labels)
    which = np.flatnonzero(suspects.dropped & (suspects.p_suggested >= MIN_FIX_PROBABILITY))
    if not which.size:
        note = f"no label was changed: no suggestion is {100 * MIN_FIX_PROBABILITY:.0f} % sure"
        return replace(decision, fixed=labels, notes=(*decision.notes, note))
    at = suspects.positions[which]
    labels[at] = suspects.suggested[which]
    dropped = np.array(suspects.dropped)
    dropped[which] = False
    bad = float((1 - suspects.p_suggested[which]).sum())
    note = f"of {which.size:,} changed labels about {bad:.0f} will be wrong; no limit covers them"
    return replace(
        decision,
        kept=np.union1d(decision.kept, at),
        fixed=labels,
        suspects=replace(suspects, dropped=dropped),
        limits=(),
        notes=(*decision.notes, note),
    )


def follow_unless_harmful(decision: Decision, *, estimator: Any = None) -> Decision:
    """The decision with what following it changes; undone only where models surely lose by it.

    With a keep fraction only a rule that surely loses to a random subset of that size is replaced,
    by that subset.
    """
    data, ensemble = decision.data, decision.ensemble
    few = len(data) < (MIN_ROWS_TO_CLEAN if decision.keep is None else MIN_ROWS_TO_PRUNE)
    if few or decision.as_given or ensemble is None or ensemble.table.ndim != 2:
        return decision
    touched = len(data) - decision.kept.size + int(decision.changed.sum())
    if decision.keep is None and touched < MIN_ROWS_TO_MEASURE:
        return decision
    if not ensemble.table.shape[1]:
        note = "whether following it helps was not measured: there is nothing to learn from"
        return replace(decision, notes=(*decision.notes, note))
    harm = _measure(decision, ensemble, estimator)
    if harm is None:
        return decision
    if decision.keep is None and harm.says == "harms":
        do = "dropping" if decision.fixed is None else "dropping or changing"
        why = f"{do} them would lower held-out accuracy ({harm})"
        soft = harm.others.get("weights")
        if soft is not None and soft.says == "helps":
            why += f", weighting them would raise it ({soft}; dris weights)"
        suspects = decision.suspects
        if suspects is not None:
            suspects = replace(suspects, dropped=np.zeros(len(suspects), dtype=np.bool_))
        return replace(
            decision,
            kept=np.arange(len(data)),
            suspects=suspects,
            rule=EVERYTHING,
            used=None,
            limits=(),
            fixed=None,
            harm=harm,
            short=0,
            notes=(*decision.notes, f"{why}{ALL_KEPT}; suspects are listed"),
        )
    lead = harm.over_random
    if lead is not None and lead.says == "harms" and decision.rule != "random":
        drawn = decide_by(ensemble, keep=decision.keep, rule="random")
        note = f"{decision.rule} loses to a random subset of that size, so one is taken"
        taken = harm.by("random", decision.rule)
        return replace(drawn, harm=taken, notes=(*drawn.notes, note))
    return replace(decision, harm=harm)


def _measure(decision: Decision, ensemble: Ensemble, estimator: Any) -> Harm | None:
    """What changes for models that follow the decision, made again in each fold where it can be."""
    data, x = decision.data, ensemble.table
    for side in (ensemble.dynamics, ensemble.dynamics.out_of_fold):
        if side is not None:
            release(side.columns["loss"])  # it lies in the store, whole
    with temporary_folder() as folder:  # where a large table goes, of which a sample is asked
        table = as_features(Data(x, data.labels), scaling(data, ensemble.features), folder).x
        assessment = ensemble.assessment
        nested = assessment.calibrated and len(data.classes) <= MAX_CLASSES_DECIDED_AGAIN
        people = data.answers is not None  # whose answers are not weighed again in each fold
        flatters = ensemble.imported or people or (decision.keep is None and not nested)
        if flatters:
            prepare = partial(_as_decided, decision, ensemble)
        elif decision.keep is not None:
            prepare = partial(_prune_again, decision, ensemble)
        else:
            prepare = partial(_clean_again, decision, ensemble, table)
        return measure_harm(
            table,
            data.labels,
            data.names,
            prepare,
            credit=np.asarray(np.linalg.inv(assessment.noise_matrix(len(data.classes)))),
            folds=None if flatters or decision.keep is not None else _folds(ensemble),
            groups=data.groups,
            seed=ensemble.settings.seed,
            estimators={} if estimator is None else {"estimator": estimator},
            flatters=flatters,
        )


def _clean_again(
    decision: Decision, ensemble: Ensemble, table: Any, chosen: Positions, fold: Positions
) -> Again:
    """P(wrong) inside each fold, by models that saw neither the row nor the fold."""
    data, seed, classes = decision.data, ensemble.settings.seed, len(decision.data.classes)
    given, trusted, x = data.labels[chosen], data.trusted[chosen], table[chosen]
    heads = [nested_heads(x, given, fold, classes, head=h, seed=seed) for h in HEADS.values()]
    trees = None
    if ensemble.trees is not None:
        own = _folds(ensemble)
        same = own is not None and np.array_equal(fold, own[chosen])
        known = ensemble.trees[chosen] if same else None
        trees = nested_trees(ensemble.table[chosen], given, fold, classes, known=known, seed=seed)
    release(ensemble.table)

    def views(f: Any, at: Positions) -> Views:
        grown = None if trees is None else trees[f, at]
        return join_views(np.stack([head[f, at] for head in heads]), grown, [given[at]])

    order = fitting_order(data.ids[chosen], trusted)
    seen_by = views(fold, np.arange(len(given)))
    decided = ensemble.assessment.posterior
    among = None if decided is None else decided.families
    posterior = fit_posterior(seen_by, given, order, rank=data.rank, among=among)

    def again(f: int) -> dict[str, Training]:
        inside = np.flatnonzero(fold != f)
        seen, own = views(f, inside), given[inside]
        belief = posterior.of(seen, own)
        wrong = (belief.wrong > SUSPECT) & ~trusted[inside]
        labels, kept = own, ~wrong
        if decision.fixed is not None:
            best = belief.truth / seen.spread
            sure = wrong & (best.max(axis=1) >= MIN_FIX_PROBABILITY)
            labels = np.where(sure, seen.class_of(best.argmax(axis=1)), own)
            kept = kept | sure
        soft = resample(np.arange(inside.size), np.where(trusted[inside], 1.0, belief.weights))
        return {
            "decision": Training(inside[kept], labels[kept]),
            "weights": Training(inside[soft], own[soft]),
        }

    return again


def _folds(ensemble: Ensemble) -> Positions | None:
    """The folds of the trees, which need not be grown again; None where there are others."""
    held = ensemble.dynamics.probabilities
    if held is None or ensemble.trees is None or int(held.fold[0].max()) + 1 != FOLDS:
        return None
    return np.asarray(held.fold[0], dtype=np.int64)


def _as_decided(
    decision: Decision, ensemble: Ensemble, chosen: Positions, fold: Positions
) -> Again:
    """What the decision at hand trains on, which knows the held-out labels."""

    def again(f: int) -> dict[str, Training]:
        inside = np.flatnonzero(fold != f)
        kept = inside[decision.mask[chosen[inside]]]
        arms = {"decision": Training(kept, decision.labels[chosen[kept]])}
        if decision.keep is None:
            soft = resample(inside, np.asarray(decision.sample_weight)[chosen[inside]])
            arms["weights"] = Training(soft, decision.data.labels[chosen[soft]])
        else:
            arms["random"] = _at_random(ensemble, chosen, inside, kept.size, f)
        return arms

    return again


def _at_random(
    ensemble: Ensemble, chosen: Positions, inside: Positions, count: int, f: int
) -> Training:
    order = rng_for(ensemble.settings.seed, "harm", "random", f).permutation(inside)
    rows = np.sort(order[:count])
    return Training(rows, ensemble.data.labels[chosen[rows]])


def _prune_again(
    decision: Decision, ensemble: Ensemble, chosen: Positions, fold: Positions
) -> Again:
    """What the rule keeps of each fold's rest, by proxies trained there, and as many at random."""
    data, x, inner = decision.data, ensemble.table, _inner_settings(decision, ensemble)

    def again(f: int) -> dict[str, Training]:
        inside = np.flatnonzero(fold != f)
        at = chosen[inside]
        part = LabelledData.of(
            x[at], data.labels[at], classes=data.classes, ids=data.ids[at], trusted=data.trusted[at]
        )
        release(x)  # of many rows some thousands are looked at
        if ensemble.features is None:
            part = replace(part, features=data.features)
        if data.groups is not None:
            part = replace(part, groups=data.groups[at])
        trained = train_ensemble(
            part,
            inner,
            workers=1,
            only_assessed=ensemble.only_assessed,
            gradient_norm="gradient_norm" in ensemble.dynamics.columns,
        )
        rule = decision.used or decision.rule
        kept = inside[decide_by(trained, keep=decision.keep, rule=rule).kept]
        return {
            "decision": Training(kept, data.labels[chosen[kept]]),
            "random": _at_random(ensemble, chosen, inside, kept.size, f),
        }

    return again


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


class Options(ReadKeywords, total=False):
    """What every verb takes besides its own parameters: this, and the keywords of `read_data`."""

    seed: int  # of everything random, unless `settings` hold another
    settings: Settings | None  # of proxies and canaries; the defaults suit most data
    # what a `Recorder` filled or a file holds, in place of training proxies. Its ids must be those
    # of the data. There are no canaries then, and no limit
    dynamics: Dynamics | None
    # of your own cross-validated model in place of proxies: (N, C) in the order of `data.classes`,
    # or a frame with a column for each. No limit, no rank variance
    probabilities: Any
    workers: int | None  # processes to train in; all cores unless given
    device: str  # "cpu", "cuda" or "cuda:1"
    store: Store | str | Path | None  # folder that keeps finished proxies
    engine: Engine | str  # "local" or "ray"
    progress: Progress | None  # called with (epochs done, epochs in all)
    # measure whether following the decision helps; where models lose by it, drop nothing
    check_harm: bool
    estimator: Any  # A scikit-learn classifier to include in that measurement


def clean(
    data: Any,
    y: Any = None,
    *,
    fix: bool = False,
    near_duplicates: str = LIST,
    **options: Unpack[Options],
) -> Decision:
    """Drop the labels that are probably wrong, and only those.

    Args:
        data: What `dris.read_data` takes or returns: a path, a frame, arrays, a data set.
        y: The labels of arrays and lists, one a row.
        fix: Keep a suspect with its suggested label where the proxies are sure of that
            (`decision.labels`); no limit covers a changed label.
        near_duplicates: "list" them (`decision.near_duplicates`), or "keep-one" row of each group,
            the least likely wrong.
        **options: Of training and of the harm check (see `Options`), and of `dris.read_data`.

    >>> from sklearn.datasets import load_iris
    >>> clean(*load_iris(return_X_y=True), workers=1)
    Decision(150 of 150 kept by clean)
    """
    check_near_duplicates(near_duplicates)
    source, how = _prepare("clean", data, y, options)
    decision = decide(source, fix=fix, **how)
    return keep_one(decision) if near_duplicates == KEEP_ONE else decision


def prune(
    data: Any,
    y: Any = None,
    *,
    keep: float,
    rule: str | Rule = RECOMMENDED,
    **options: Unpack[Options],
) -> Decision:
    """Keep a share of the examples, those most worth training on.

    Args:
        data: As for `dris.clean`.
        y: As for `dris.clean`.
        keep: α, the largest share of the examples to keep.
        rule: "recommended" for the data, a name in `dris.RULES`, or a `dris.Rule`.
        **options: As for `dris.clean`.

    >>> from sklearn.datasets import load_breast_cancer
    >>> prune(*load_breast_cancer(return_X_y=True), keep=0.25, workers=1)
    Decision(142 of 569 kept by clean_then_hard)
    """
    source, how = _prepare("prune", data, y, options)
    return decide(source, keep=keep, rule=rule, **how)


def weights(
    data: Any,
    y: Any = None,
    *,
    score: str = P_WRONG,
    smoothing: float = SMOOTHING,
    exponent: float = 1.0,
    **options: Unpack[Options],
) -> Decision:
    """Weight the examples instead of dropping any.

    The decision is that of `clean`; its `weighting` says how often to draw each example and how
    much it counts. By P(wrong) every example is drawn alike and counts about as much more or less
    as it is likelier in clean data: pass `decision.sample_weight` to `fit`. By a score, draws are
    the paper's (eq. 7) and canaries get 0 and 0, for their labels were flipped.

    Args:
        data: As for `dris.clean`.
        y: As for `dris.clean`.
        score: "p_wrong", or one of `dris.SCORES`, such as "rank_variance".
        smoothing: ξ of a score, towards uniform draws.
        exponent: Of a score's weights: 1 is unbiased, 0 counts every draw alike.
        **options: As for `dris.clean`.

    >>> from sklearn.datasets import load_iris
    >>> weights(*load_iris(return_X_y=True), workers=1, check_harm=False).weighting.weights.shape
    (150,)
    """
    check_weighting(score, smoothing=smoothing, exponent=exponent)
    source, how = _prepare("weights", data, y, options)
    if score != P_WRONG:  # what is measured is dropping, and weights by P(wrong)
        how["check_harm"] = False
    decision = decide(source, **how)
    weighting = decision.weigh(score, smoothing=smoothing, exponent=exponent, of="all")
    harm = None if decision.harm is None else decision.harm.by("weights", "drop")
    return replace(decision, weighting=weighting, harm=harm)


def check(data: Any, y: Any = None, *, max_noise: float, **options: Unpack[Options]) -> NoiseCheck:
    """Say whether more labels are wrong than allowed: fine, above, or cannot tell.

    Args:
        data: As for `dris.clean`.
        y: As for `dris.clean`.
        max_noise: The largest share of wrong labels that is fine.
        **options: As for `dris.clean`, without the harm check.

    >>> from sklearn.datasets import load_breast_cancer
    >>> check(*load_breast_cancer(return_X_y=True), max_noise=0.05, workers=1).says
    'fine'
    """
    check_limit(max_noise)
    source, how = _prepare("check", data, y, options)
    return check_noise(decide(source, **{**how, "check_harm": False}), max_noise)


_READING = frozenset(ReadKeywords.__annotations__)
_DECIDING = frozenset(Options.__annotations__) - _READING


def _prepare(
    verb: str, data: Any, y: Any, options: Mapping[str, Any]
) -> tuple[LabelledData, dict[str, Any]]:
    """The data, read unless it is, and the options that are left for `decide`."""
    unknown = sorted(set(options) - _READING - _DECIDING)
    if unknown:
        near = suggest_name(unknown[0], sorted(_READING | _DECIDING))
        raise TypeError(
            f"dris.{verb} has no parameter {', '.join(unknown)}{near}; what decides the result "
            "stands in settings=dris.Settings(...), a rule's parameters in rule=dris.Rule(...)"
        )
    deciding = {name: value for name, value in options.items() if name in _DECIDING}
    reading: Any = {name: options[name] for name in options if name in _READING}
    if not isinstance(data, LabelledData):
        return read_data(data, y, **reading), deciding
    if reading or y is not None:
        given = ", ".join(sorted(reading)) or "y"
        raise InputError(f"the data is read already; pass {given} to dris.read_data instead")
    return data, deciding
