"""The proxies that trained on the data, with canaries among its labels: what a decision rests on.

Canaries are planted first, in given labels that nobody vouches for. With folds, proxies train on
the given labels and assess the planted ones out of fold, so that a canary is a row like any other
to them. Without folds, or for a rule that reads what proxies record of their own training data,
they train on the planted labels and never see the others.
"""

import importlib.util
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.limits import CorruptionLimit, canary_mask, data_limits
from dris.core.checks.neighbours import Neighbours, find_neighbours
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.noise.annotators import Consensus, find_consensus
from dris.core.noise.assessment import Assessment, LabelSide, assess
from dris.core.noise.canaries import Canaries, plant_canaries
from dris.core.noise.posterior import NoiseRate
from dris.core.noise.views import Views
from dris.core.scores.formulas import SCORES
from dris.core.streams import rng_for
from dris.core.validate import alignment
from dris.data.labelled import LabelledData
from dris.learn.engines.processes import Progress, enter_phase
from dris.learn.engines.tasks import Engine
from dris.learn.extras import require
from dris.learn.proxies import default_recipe, recipe_within_budget, train_proxies
from dris.learn.store.run_store import Store
from dris.learn.trainers.job import Columns, Data
from dris.learn.trainers.registry import trainer_of
from dris.learn.trainers.stacked.stack import as_features
from dris.learn.trees import suit_trees, tree_probabilities
from dris.pipeline.settings import DEFAULTS, NO_ENCODER, Settings

MAX_RECORDED_VALUES = 5_000_000  # per column (K·E·N); beyond, only the scored epoch is kept
PATIENCE = 4  # epochs without a smaller held-out loss before proxies stop
MIN_AUGMENTED_SIDE = 24  # pixels; of a smaller picture a crop or a flip makes another one
MAX_ROWS_OF_MANY_FOLDS = 200_000  # examples; beyond, proxies that nobody named get few folds
# Beyond, rows are measured in fold at the scored epoch only: a third to two thirds of the time.
MAX_CLASSES_IN_FOLD, MAX_COLUMNS_IN_FOLD = 64, 1_000
FEW_FOLDS = 2  # where there are many examples, or every fold trains a network
ENOUGH_CANARIES, MAX_CANARY_SHARE = 290, 0.1  # of a kind on small data, but never a larger share
MIN_PICTURE_ACCURACY = 0.5  # held out; below it, proxies can hardly read the pictures
MAX_COMPARED_VALUES = 1 << 28  # of a table; rows of larger ones are not compared
MIN_DOUBT = 0.1  # P(wrong) from which on annotated rows need another opinion
_PILOTED = ("hard", "confusable")


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Data, the dynamics of K proxies that trained on it, and the canaries among its labels."""

    data: LabelledData  # as it was read
    dynamics: Dynamics  # of K proxies, with each label's rival
    canaries: tuple[Canaries, ...]  # one entry per kind; empty when none were planted
    settings: Settings  # what was asked for, with the models that were chosen
    notes: tuple[str, ...] = ()  # what the user should know, a sentence each
    features: NDArray[np.float32] | None = None  # what an encoder made of images, if one did
    only_assessed: bool = False  # canaries out of fold only; proxies trained on the given labels
    imported: bool = False  # the models are somebody else's
    trees: NDArray[np.float32] | None = None  # boosted trees' out-of-fold probabilities (N, C)

    @cached_property
    def assessment(self) -> Assessment:
        """What proxies, and the answers of several annotators, say of every label."""
        if self.consensus is None:
            return self._by_proxies
        return _weigh_answers(self._by_proxies, self.consensus, self.data.trusted)

    @cached_property
    def consensus(self) -> Consensus | None:
        """What several annotators and the proxies agree on; None where one person labelled."""
        answers, views = self.data.answers, self._by_proxies.views
        if answers is None:
            return None
        models = None if views is None else _model_opinions(views)
        return find_consensus(answers, len(self.data.classes), models)

    @cached_property
    def _by_proxies(self) -> Assessment:
        return assess(
            self.dynamics,
            given=self.data.labels,
            planted=self.planted,
            trusted=self.data.trusted,
            trained_on_given=self.only_assessed,
            classes=len(self.data.classes),
            trees=self.trees,
            rank=self.data.rank,
        )

    @cached_property
    def corruption(self) -> tuple[CorruptionLimit, ...]:
        """The limit on wrong labels in all of the data, one per kind of canaries."""
        if not self.canaries:
            return ()
        score = -self.assessment.shown.wrong
        return data_limits(score, self.canaries, at_most=self.settings.at_most)

    @cached_property
    def view(self) -> Dynamics:
        """What choosing and certifying may look at: where a canary is one example among others."""
        side = self.dynamics.out_of_fold
        if side is None or not self.only_assessed:
            return self.dynamics
        return replace(side, out_of_fold=side)

    @property
    def table(self) -> Any:
        """What the proxies learned from, as a table where stacked proxies read images as such."""
        x = self.data.x if self.features is None else self.features
        models = self.settings.models
        return x.reshape(len(x), -1) if x.ndim == 4 and models and _are_stacked(models) else x

    @cached_property
    def neighbours(self) -> Neighbours | None:
        """What distances between rows show, in what proxies learn from; None without columns."""
        data, x = self.data, self.table
        if x.ndim == 4:
            x = x.reshape(len(x), -1)
        if not x.shape[1] or x.size > MAX_COMPARED_VALUES:
            return None
        table = as_features(Data(x, data.labels), scaling(data, self.features)).x
        rng = rng_for(self.settings.seed, "neighbours")
        return find_neighbours(np.asarray(table, dtype=np.float32), data.copies, rng=rng)

    @cached_property
    def planted(self) -> NDArray[np.bool_]:
        """True for every canary of any kind."""
        return canary_mask(self.canaries, len(self.data))

    @property
    def choosing(self) -> NDArray[np.bool_] | None:
        """The canaries that may be looked at, of the first kind, which set a gate; None without."""
        if not self.canaries:
            return None
        mask = np.zeros(len(self.data), dtype=np.bool_)
        mask[self.canaries[0].choosing] = True
        return mask

    @property
    def held_out_accuracy(self) -> float | None:
        """The share of labels that proxies predict out of fold; None without folds."""
        side = self.dynamics.out_of_fold
        if side is None or "correct" not in side.columns:
            return None
        return float(side.snapshot("correct").mean())

    def recipe(self) -> dict[str, Any]:
        """How to do it again, as values that JSON can hold."""
        from dris import __version__

        return {
            "dris": __version__,
            "data": self.data.to_dict(),
            "settings": asdict(self.settings),
            "proxies": list(self.dynamics.provenance.get("proxies", [])),
            "notes": list(self.notes),
        }


def _model_opinions(views: Views) -> NDArray[np.float64]:
    """The mean probability of each class out of fold, (N, C)."""
    mean = np.asarray(views.values.mean(axis=0) / views.spread)
    if views.columns is None:
        return mean
    whole = np.repeat(mean[:, -1:], views.classes, axis=1)
    np.put_along_axis(whole, views.columns.astype(np.int64), mean[:, :-1], axis=1)
    return whole


def _weigh_answers(
    assessment: Assessment, found: Consensus, trusted: NDArray[np.bool_]
) -> Assessment:
    """The same assessment with P(wrong) by the annotators' answers as well as by the models.

    Annotators who make the same mistakes hide them, so the noise rate is a lower bound.
    """
    own, views, rate = assessment.given.labels, assessment.views, assessment.noise_rate
    if own is None or views is None or rate is None:
        return assessment
    n, truth = len(own), found.truth.copy()
    truth[trusted] = np.arange(truth.shape[1]) == own[trusted][:, None]
    wrong = 1 - truth[np.arange(n), own]
    others = truth.copy()
    others[np.arange(n), own] = -1
    seen = truth
    if views.columns is not None:
        single = np.take_along_axis(truth, views.columns.astype(np.int64), axis=1)
        seen = np.column_stack([single, np.maximum(1 - single.sum(axis=1), 0)])
    likely = float(wrong.mean())
    side = LabelSide(own, wrong)
    return replace(
        assessment,
        shown=side,
        given=side,
        suggested=truth.argmax(axis=1),
        p_suggested=truth.max(axis=1),
        other=others.argmax(axis=1),
        contradicted=wrong >= MIN_DOUBT,
        training_weights=1 - wrong,
        noise_rate=NoiseRate(likely, max(rate.high, likely), likely),
        truth=seen,
    )


def scores_of(dynamics: Dynamics) -> dict[str, NDArray[np.float64]]:
    """Every score that these dynamics can give, by name, each read-only."""
    scores = {}
    for name, score in SCORES.items():
        try:
            scores[name] = score(dynamics)
        except InputError:  # needs a column that was not recorded
            continue
        scores[name].flags.writeable = False  # so that a score file need not copy it
    return scores


def import_dynamics(
    data: LabelledData, dynamics: Dynamics, settings: Settings = DEFAULTS
) -> Ensemble:
    """Dynamics that somebody else recorded on this data, in the order of the data; no canaries."""
    there, wanted = dynamics.ids, data.ids
    order = alignment(there, wanted)
    if order is None:
        raise InputError(
            f"the imported dynamics are of {there.size} examples, such as {there[0]}, and the data "
            f"has {wanted.size}, such as {wanted[0]}; name the data's column of the same ids "
            "with `id`"
        )
    own = dynamics.reorder(order)
    notes = ["dynamics were imported: no certificate"]
    others = 0 if own.labels is None else int((own.labels != data.labels).sum())
    if others:
        notes.append(f"{others:,} of {len(data):,} labels were other ones when they were recorded")
    chosen = replace(settings, proxies=max(2, dynamics.proxies), canaries=())
    ours = replace(own, labels=data.labels)
    return Ensemble(data, ours, (), chosen, (*data.notes, *notes), imported=True)


def train_ensemble(
    data: LabelledData,
    settings: Settings = DEFAULTS,
    *,
    workers: int | None = None,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    progress: Progress | None = None,
    engine: Engine | str = "local",
    only_assessed: bool = False,
    gradient_norm: bool = False,
) -> Ensemble:
    """Plant canaries and train proxies; with `only_assessed`, and folds, on the given labels."""
    if data.x.ndim == 4:
        enter_phase(progress, "features")
    features, read_how = _encode(data, settings, device, store)
    enter_phase(progress, "proxies")
    heads = _heads(settings) if only_assessed else ("mlp",)
    budget = None
    table = features is not None or data.x.ndim == 2
    if table and not settings.models and settings.folds and settings.scored_epoch is None:
        budget = recipe_within_budget(len(data), len(data.classes), settings.epochs)
        settings = replace(settings, epochs=budget.epochs)
    if data.answers is not None:  # nobody gave answers that a canary could carry
        settings = replace(settings, canaries=(), matrix=None)
    models, notes = _models(data, settings, heads) if features is None else (heads, read_how)
    chosen = replace(settings, models=models)
    how: dict[str, Any] = {
        "proxies": chosen.proxies,
        "epochs": chosen.epochs,
        "model": list(models),
        "classes": len(data.classes),
        "ids": data.ids,
        "groups": data.groups,
        "rival": True,
        "workers": workers,
        "device": device,
        "store": store,
        "engine": engine,
        "standardize": scaling(data, features),
        "recipe": budget,
        "gradient_norm": gradient_norm,
        "scored_epoch": chosen.scored_epoch,
    }
    large = chosen.proxies * chosen.epochs * len(data) > MAX_RECORDED_VALUES
    if large:
        how["record"] = "scored"
    x = data.x if features is None else features
    costly = len(data.classes) > MAX_CLASSES_IN_FOLD or x.shape[1] > MAX_COLUMNS_IN_FOLD
    if only_assessed and costly and _are_stacked(models):
        how["record"] = "snapshot"
    small_picture = data.x.ndim == 4 and min(data.x.shape[2:]) < MIN_AUGMENTED_SIDE
    if models == ("small_cnn",) and not settings.models and small_picture:
        plain = default_recipe("small_cnn", chosen.epochs, scored_epoch=chosen.scored_epoch)
        how["recipe"] = replace(plain, augment=False)
    folds, named = chosen.folds, bool(settings.models)
    if folds is not None and not named and len(data) > MAX_ROWS_OF_MANY_FOLDS:
        folds = min(folds, FEW_FOLDS)
    if folds is not None and not _are_stacked(models):  # where each fold costs minutes
        # A network that somebody named trains on everything, as in the paper.
        folds = None if named or large else min(folds, FEW_FOLDS)
    if folds is not None:
        most = len(data) if data.groups is None else len(np.unique(data.groups))
        how["cross_fit"] = max(2, min(folds, most))
        if chosen.scored_epoch is None:
            how |= {"scored_epoch": "held_out", "patience": PATIENCE}
    pilot = None
    if any(kind in _PILOTED for kind in chosen.canaries):
        first, progress = _half_of(progress, 0), _half_of(progress, 1)
        pilot = train_proxies(x, data.labels, seed=chosen.seed + 1, progress=first, **how)
    canaries = _plant(data, chosen, pilot)
    labels = canaries[-1].planted if canaries else data.labels
    apart = only_assessed and _are_stacked(models) and folds is not None
    if apart and canaries:
        labels, how["judged"] = data.labels, labels
    dynamics = train_proxies(x, labels, seed=chosen.seed, progress=progress, **how)
    notes, trees, held = (*data.notes, *notes), None, dynamics.probabilities
    own = features is None and not settings.models
    if held is not None and own and suit_trees(x, len(data.classes)):
        enter_phase(progress, "trees")
        trees = tree_probabilities(
            *(x, labels, held.fold[0], len(data.classes)),
            seed=chosen.seed,
            ids=data.ids,
            store=store,
        )
    ensemble = Ensemble(
        data, dynamics, canaries, chosen, notes, features, only_assessed=apart, trees=trees
    )
    right = ensemble.held_out_accuracy
    if features is not None and right is not None and right < MIN_PICTURE_ACCURACY:
        note = (
            f"the proxies predict {100 * right:.0f} % of the labels of pictures they did not train "
            "on, so many suspects are right: look at the list before you drop anything"
        )
        ensemble = replace(ensemble, notes=(*notes, note))
    return ensemble


def scaling(data: LabelledData, features: Any = None) -> Columns:
    """How the proxies' table is standardised: what one column became is scaled as one."""
    own = features is None and data.x.ndim == 2
    return data.column_groups if own and any(s != 1 for s in data.column_groups) else True


def _plant(data: LabelledData, settings: Settings, pilot: Dynamics | None) -> tuple[Canaries, ...]:
    """Canaries of every kind, one after the other, none on another or on a trusted label."""
    planted: list[Canaries] = []
    # In the order of the ids: the same rows in another order get the same canaries.
    order = np.argsort(data.ids, kind="stable")
    labels, avoid = data.labels[order], np.array(data.trusted[order])
    for kind in settings.canaries:
        given: dict[str, Any] = {}
        if pilot is not None and kind in _PILOTED:
            gap, top_two = (view[order] for view in _pilot_views(pilot))
            given = {"top_two": top_two} if kind == "confusable" else {"gap": gap, "hardest": 0.25}
        if kind == "matrix":
            given = {"matrix": settings.matrix}
        # On small data a larger share, so that a few stray canaries do not set the gate.
        enough = min(MAX_CANARY_SHARE, ENOUGH_CANARIES / max(int((~avoid).sum()), 1))
        canaries = plant_canaries(
            labels,
            share=settings.share if avoid.all() else max(settings.share, enough),
            kind=kind,
            rng=rng_for(settings.seed, "canaries", kind),
            classes=len(data.classes),
            avoid=avoid if avoid.any() else None,
            **given,
        )
        planted.append(canaries.reorder(np.argsort(order)))
        labels, avoid = canaries.planted, avoid | canaries.mask()
    return tuple(planted)


def _pilot_views(dynamics: Dynamics) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """What `plant_canaries` asks of a pilot: the gap, and the two likeliest classes (N, 2).

    The gap is the mean over proxies of the distance, in logits, between the label and its rival.
    The two classes are the label and the rival that most proxies see, the likelier one first.
    """
    labels = np.asarray(dynamics.labels, dtype=np.int64)
    margin = dynamics.snapshot("margin").astype(np.float64)
    rivals = np.sort(dynamics.snapshot("rival"), axis=0).astype(np.int64)
    seen = (rivals[:, None] == rivals[None]).sum(axis=1)
    rival = np.take_along_axis(rivals, seen.argmax(axis=0)[None], axis=0)[0]
    right = dynamics.snapshot("correct").mean(axis=0) > 0.5
    first, second = np.where(right, labels, rival), np.where(right, rival, labels)
    return np.abs(margin).mean(axis=0), np.stack((first, second), axis=1)


def _encode(
    data: LabelledData, settings: Settings, device: str, store: Store | str | Path | None
) -> tuple[NDArray[np.float32] | None, tuple[str, ...]]:
    """Fixed features of images, of an encoder or without torch, where no model was named."""
    colour = data.x.ndim == 4 and data.x.shape[1] == 3
    asked = None if settings.encoder == NO_ENCODER else settings.encoder
    if asked is not None and settings.models:
        raise InputError("a model or an encoder reads the pictures, not both; name one")
    if asked is not None and not colour:
        raise InputError(
            "an encoder reads pictures in colour, and the data are not; leave encoder out"
        )
    if data.x.ndim != 4 or settings.models:
        return None, ()
    if asked is not None:
        require("torch", "images")
    if importlib.util.find_spec("torch") is None:
        from dris.data.images.gradient_features import gradient_features

        return gradient_features(data.x), (
            "torch is not installed, so the proxies learn from the pictures' edges and colours; "
            "pip install '.[images]' has a pretrained network read them, which finds far more",
        )
    from dris.learn.trainers.networks.encoders import (
        SIDE,
        PictureFiles,
        installed_encoder,
        named_encoder,
    )
    from dris.learn.trainers.networks.features import AT_ONCE, extract_features

    if settings.encoder == NO_ENCODER or not colour:
        return None, ()
    chosen = installed_encoder() if asked is None else named_encoder(asked)
    if chosen is None:
        return None, ()
    name, encoder = chosen
    how: dict[str, Any] = {"batch_size": 64, "device": device, "store": store}
    if data.made_small and data.paths is not None:  # what x holds is too little for an encoder
        how["mark"] = f"{data.origin.fingerprint} at {SIDE}"
        how["batch_size"] = AT_ONCE if device == "cpu" else 64
        features = extract_features(encoder, PictureFiles(data.paths.tolist()), **how)
        at = f" at {SIDE} × {SIDE} pixels"
    else:
        features, at = extract_features(encoder, data.x, **how), ""
    return features, (f"proxies learn from features of {name}{at}",)


def _models(
    data: LabelledData, settings: Settings, heads: tuple[str, ...]
) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """The models named, or those that suit the data, and a sentence where that was a choice."""
    if settings.models:
        return settings.models, ()
    if data.x.ndim == 4:
        note = "small CNNs learn from the pictures"
        if data.x.shape[1] == 3 and settings.encoder != NO_ENCODER:  # an encoder could read them
            from dris.learn.trainers.networks.encoders import lacking_weights

            note += "; " + (
                lacking_weights()
                or "pip install '.[images]' has a pretrained network read them once, which "
                "takes minutes less and finds more"
            )
        return ("small_cnn",), (note,)
    recorded = settings.proxies * settings.epochs * len(data)
    if settings.folds is None or recorded > MAX_RECORDED_VALUES:
        return ("mlp",), ()
    return heads, ()


def _heads(settings: Settings) -> tuple[str, ...]:
    """Models for a table: hidden layers, and one linear, which is right more often on small ones.

    Every other hidden layer, and the linear model, reads untangled columns: on small data with
    redundant columns, models that do not are far from done. Linear models that have converged are
    copies of each other, so there is one at most.
    """
    hidden = ("mlp", "untangled_mlp") * (settings.proxies // 2)
    return (*hidden[: settings.proxies - 1], "untangled_linear")


def _are_stacked(models: Sequence[Any]) -> bool:
    return all(trainer_of(model).trains_together for model in models)


def _half_of(progress: Progress | None, half: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, total: progress(half * total + done, 2 * total)
