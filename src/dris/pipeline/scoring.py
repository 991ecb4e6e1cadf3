"""P(wrong) of rows that arrive later, by models that train once on the data of a decision."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.noise.posterior import NoisePosterior, fit_posterior, fitting_order
from dris.core.noise.views import join_views
from dris.core.streams import hashed_order, rng_for
from dris.data.labelled import LabelledData
from dris.learn.trainers.folds import folds_of, rows_together
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.head import train_on
from dris.learn.trainers.stacked.stack import Stack, as_features, class_probabilities
from dris.pipeline.ensemble import Ensemble, scaling
from dris.pipeline.harm import FOLDS, HEADS

Floats = NDArray[np.float64]
MAX_ROWS = 20_000  # that the models train on


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """What is believed of rows that arrived later, one entry per row."""

    p_wrong: Floats  # of the label that came with the row; NaN without
    suggested: NDArray[Any]  # the likeliest true label, as in the data
    p_suggested: Floats  # how likely it is


class Scorer:
    """A linear model and one with a hidden layer per fold, and the noise models that fit them.

    Noise models are fitted to predictions of the models that left a row out; a new row is
    predicted by the mean of all folds.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        data = ensemble.data
        numbers = all(feature.how in ("vector", "number") for feature in data.features)
        if not numbers or data.x.ndim != 2 or not ensemble.assessment.calibrated:
            raise InputError("score needs a table of numbers and proxies with folds")
        order = np.argsort(hashed_order(data.ids, seed=0), kind="stable")[:MAX_ROWS]
        self._data, self._seed = data, ensemble.settings.seed
        self._rows, self._trusted = np.sort(order), data.trusted
        self._labels = data.labels[self._rows]

    def score(self, x: Any, y: Any = None) -> NewRows:
        """Score rows with the columns of the data, and labels if they have any."""
        data = self._data
        new = self._table(_same_columns(data, x))
        views = np.stack([_answers(stack, new) for stack in self._fitted[0]]).mean(axis=1)
        if y is None:
            labels = views.mean(axis=0).argmax(axis=1)
        else:
            labels = _same_classes(data, y, views.shape[1])
        joined, posterior = join_views(views, None, [labels]), self._fitted[1]
        belief = posterior.of(joined, labels)
        truth, wrong = belief.truth, belief.wrong
        if y is None:
            truth = np.sum([part * one.clean(joined) for one, part in posterior.models], axis=0)
            wrong = np.full(len(labels), np.nan)
        best = truth / joined.spread
        if joined.columns is not None:
            best[:, -1] = 0  # which of the others is not known
        suggested = joined.class_of(best.argmax(axis=1))
        return NewRows(wrong, data.given(suggested), best.max(axis=1))

    @cached_property
    def _fitted(self) -> tuple[list[Stack], NoisePosterior]:
        count, classes = len(self._rows), len(self._data.classes)
        table, groups = self._table(None), self._data.groups
        of_rows = None if groups is None else groups[self._rows]
        together = rows_together(table, of_rows, count)
        fold = folds_of(self._labels, together, FOLDS, rng=rng_for(self._seed, "score", "folds"))
        rest = [np.flatnonzero(fold != f) for f in range(FOLDS)]
        stacks = [
            train_on(table, self._labels, classes, rest, head=head, seed=self._seed)
            for head in HEADS.values()
        ]
        own = np.stack([_answers(stack, table)[fold, np.arange(count)] for stack in stacks])
        order = fitting_order(self._data.ids[self._rows], self._trusted[self._rows])
        views = join_views(own, None, [self._labels])
        return stacks, fit_posterior(views, self._labels, order, rank=self._data.rank)

    def _table(self, new: NDArray[np.float32] | None) -> Any:
        """The training rows, or new ones, standardised by the training rows."""
        own, labels = self._data.x[self._rows], self._labels
        none = None if new is None else np.zeros(len(new), dtype=np.int64)
        made = as_features(Data(own, labels, new, none), scaling(self._data))
        return made.x if new is None else made.test_x


def _answers(stack: Stack, x: Any) -> Floats:
    """Class probabilities by each model of a stack, (model, N, C)."""
    pieces = stack.answers(x=x)
    out = np.empty((len(stack), len(x), pieces[0].logits.shape[1]))
    for piece in pieces:
        out[piece.models, piece.examples] = [class_probabilities(one) for one in piece.logits]
    return out


def _same_columns(data: LabelledData, x: Any) -> NDArray[np.float32]:
    """The columns that the models learned from, of an array or a frame."""
    if hasattr(x, "columns"):
        names = [feature.column for feature in data.features]
        missing = [name for name in names if name not in x.columns]
        if missing:
            raise InputError(f"`x` lacks {', '.join(missing)}, which the data has")
        x = x[names]
    try:
        values = np.asarray(x, dtype=np.float32)
    except (TypeError, ValueError):
        raise InputError("`x` must be numbers only, as the data is") from None
    if data.columns is not None and values.shape[1:] == (data.columns.size,):
        values = values[:, data.columns]
    if values.ndim != 2 or values.shape[1] != data.x.shape[1] or not np.isfinite(values).all():
        width = data.x.shape[1] if data.columns is None else data.columns.size
        raise InputError(f"`x` must be rows of {width} finite numbers, got {np.shape(x)}")
    return values


def _same_classes(data: LabelledData, y: Any, count: int) -> NDArray[np.int64]:
    known = {str(value): place for place, value in enumerate(data.classes)}
    given = [str(value) for value in np.asarray(y).tolist()]
    strange = sorted({value for value in given if value not in known})
    if strange or len(given) != count:
        what = f"{', '.join(strange[:3])} is no class of the data" if strange else f"{len(given)}"
        raise InputError(f"`y` must have a label of the data for each of {count} rows: {what}")
    return np.array([known[value] for value in given], dtype=np.int64)
