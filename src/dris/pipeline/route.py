"""The one way from data to a decision: train, assess, judge, choose, certify, check for harm."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dris.core.checks.judgement import judge
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError, suggest_name
from dris.core.files import temporary_folder
from dris.core.large.mapped import release
from dris.core.noise.assessment import usual_confidence
from dris.core.select.rules import CLEAN, CLEAN_THEN_HARD, RECOMMENDED, RULES, Rule, rule_of
from dris.data.findings import drop_uninformative_columns
from dris.data.labelled import LabelledData, ReadKeywords
from dris.data.reader import read_data
from dris.learn.engines.engine import Engine
from dris.learn.engines.processes import Progress
from dris.learn.store.run_store import Store
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.stack import as_features
from dris.pipeline.choice import MIN_ROWS_TO_CLEAN, MIN_ROWS_TO_PRUNE, check_rule, choose_rows
from dris.pipeline.decision import Decision, check_weighting
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

    The public verbs are this with a share (`dris.prune`) and without (`dris.clean`); `Options`
    says what each parameter is.
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


def clean(data: Any, y: Any = None, *, fix: bool = False, **options: Unpack[Options]) -> Decision:
    """Drop the labels that look wrong, and only those.

    Args:
        data: What `dris.read_data` takes or returns: a path, a frame, arrays, a data set.
        y: The labels of arrays and lists, one a row.
        fix: Keep a suspect with its suggested label where the proxies are sure of that
            (`decision.labels`); no limit covers a changed label.
        **options: Of training and of the harm check (see `Options`), and of `dris.read_data`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> x = rng.normal(size=(400, 3)) + 4 * y[:, None]
    >>> given = np.where(np.arange(400) < 40, 1 - y, y)  # a tenth is wrong
    >>> decision = clean(x, given, workers=1)
    >>> bool((given != y)[decision.kept].mean() < 0.02)
    True
    """
    source, how = _prepare("clean", data, y, options)
    return decide(source, fix=fix, **how)


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
        data: What `dris.read_data` takes or returns: a path, a frame, arrays, a data set.
        y: The labels of arrays and lists, one a row.
        keep: α, the largest share of the examples to keep.
        rule: "recommended" for the data, a name in `dris.RULES`, or a `dris.Rule`.
        **options: Of training and of the harm check (see `Options`), and of `dris.read_data`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> decision = prune(rng.normal(size=(400, 3)) + y[:, None], y, keep=0.25, workers=1)
    >>> decision.kept.size <= 100
    True
    """
    source, how = _prepare("prune", data, y, options)
    return decide(source, keep=keep, rule=rule, **how)


def weights(
    data: Any,
    y: Any = None,
    *,
    score: str = "rank_variance",
    smoothing: float = 0.1,
    exponent: float = 1.0,
    **options: Unpack[Options],
) -> Decision:
    """Weight the examples by a score instead of dropping any (paper, eq. 7).

    The decision is that of `clean`; its `weighting` says how often to draw each example and how
    much it counts. Canaries get 0 and 0, for their labels were flipped.

    Args:
        data: What `dris.read_data` takes or returns: a path, a frame, arrays, a data set.
        y: The labels of arrays and lists, one a row.
        score: One of `dris.SCORES`.
        smoothing: ξ, towards uniform draws.
        exponent: Of the weights: 1 is unbiased, 0 counts every draw alike.
        **options: Of training and of the harm check (see `Options`), and of `dris.read_data`.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> x = rng.normal(size=(400, 3)) + y[:, None]
    >>> decision = weights(x, y, workers=1, check_harm=False)
    >>> decision.weighting.probabilities.sum().round(6)
    np.float64(1.0)
    """
    check_weighting(score, smoothing=smoothing, exponent=exponent)
    source, how = _prepare("weights", data, y, options)
    decision = decide(source, **how)
    weighting = decision.weigh(score, smoothing=smoothing, exponent=exponent, of="all")
    return replace(decision, weighting=weighting)


_READING = frozenset(ReadKeywords.__annotations__)
_DECIDING = frozenset(Options.__annotations__) - _READING


def _prepare(
    verb: str, data: Any, y: Any, options: Mapping[str, Any]
) -> tuple[LabelledData, dict[str, Any]]:
    """Read the data unless that is done, and return the options that are left for `decide`."""
    unknown = sorted(set(options) - _READING - _DECIDING)
    if unknown:
        near = suggest_name(unknown[0], sorted(_READING | _DECIDING))
        raise TypeError(
            f"dris.{verb} has no parameter {', '.join(unknown)}{near}; what decides the result "
            "stands in settings=dris.Settings(...), a rule's parameters in rule=dris.Rule(...)"
        )
    reading = {name: value for name, value in options.items() if name in _READING}
    deciding = {name: value for name, value in options.items() if name in _DECIDING}
    if not isinstance(data, LabelledData):
        return read_data(data, y, **reading), deciding
    if reading or y is not None:
        given = ", ".join(sorted(reading)) or "y"
        raise InputError(f"the data is read already; pass {given} to dris.read_data instead")
    return data, deciding
