"""M small classifiers trained in the same stacked matrix products, in NumPy.

Axis 0 of every array is the model. Each model is trained as if it were alone: its weights, orders
and steps come from streams of its own, a product of stacks is one product per model, and a batch
that is shorter than its neighbours' is filled up with rows of weight zero. So no bit of a model
depends on its neighbours, nor on the number of threads. They read features as rows of float32 that
end in a 1, which multiplies the bias, or as a sparse matrix, which is never filled with zeros.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.streams import rng_for
from dris.learn.recipe import Recipe, cosine
from dris.learn.trainers.job import Data, Normalize
from dris.learn.trainers.schedules import Schedule
from dris.learn.trainers.standardize import as_table
from dris.learn.trainers.trainer import State, Stream

_ROOM = 1 << 24  # numbers in the batches of the models that step together: 64 MB
_MEASURED = 1 << 16  # hidden and output numbers of a model that are measured at once
_TOGETHER = 4  # models that are measured at once: more would leave the cache
_LOOKED_UP = 256  # steps whose labels are looked up at once
_WORTH_A_THREAD = 5e9  # multiplications in an epoch from which threads pay


Floats = NDArray[np.float32]
# The mean squared length that sparse rows are given: that of a hundred standardized features.
SPARSE_LENGTH = 100.0


class FeatureTable(ABC):
    """What a stack asks of its features; axis 0 of everything stacked is the model."""

    width: int  # of a row, and of the 1 that the bias multiplies

    @abstractmethod
    def __len__(self) -> int:
        """N, the number of rows."""

    @abstractmethod
    def room(self, models: int, batch: int) -> Any:
        """A buffer for the batches of some models."""

    @abstractmethod
    def gather(self, at: NDArray[np.int64], room: Any) -> Any:
        """The rows at (model, batch), in `room` where there is one."""

    @abstractmethod
    def rows(self, begin: int, end: int, models: int) -> Any:
        """Consecutive rows, the same for all models."""

    @abstractmethod
    def product(self, batch: Any, weights: Floats, out: Floats) -> None:
        """Each model's batch times its weights (inputs + 1, outputs), into (model, batch, out)."""

    @abstractmethod
    def gradients(self, batch: Any, errors: Floats, out: Floats) -> None:
        """Each model's batch, transposed, times the errors (model, batch, out)."""


class _DenseTable(FeatureTable):
    def __init__(self, x: Floats) -> None:
        self._x = x
        self.width = x.shape[1]

    def __len__(self) -> int:
        return len(self._x)

    def room(self, models: int, batch: int) -> Floats:
        return np.empty((models, batch, self.width), dtype=np.float32)

    def gather(self, at: NDArray[np.int64], room: Floats) -> Floats:
        # Any mode but "raise", which would gather into a copy of its own first.
        return np.take(self._x, at, axis=0, out=room, mode="clip")

    def rows(self, begin: int, end: int, models: int) -> Floats:
        return self._x[None, begin:end]

    def product(self, batch: Floats, weights: Floats, out: Floats) -> None:
        np.matmul(batch, weights, out=out)

    def gradients(self, batch: Floats, errors: Floats, out: Floats) -> None:
        np.matmul(batch.transpose(0, 2, 1), errors, out=out)


class _SparseTable(FeatureTable):
    """A CSR matrix of SciPy's; the bias is added beside it."""

    def __init__(self, x: Any) -> None:
        self._x = x
        self.width = x.shape[1] + 1

    def __len__(self) -> int:
        return int(self._x.shape[0])

    def room(self, models: int, batch: int) -> None:
        """Nothing: the number of entries of a batch is not known before."""

    def gather(self, at: NDArray[np.int64], room: None) -> list[Any]:
        return [self._x[of_model] for of_model in at]

    def rows(self, begin: int, end: int, models: int) -> list[Any]:
        return [self._x[begin:end]] * models

    def product(self, batch: list[Any], weights: Floats, out: Floats) -> None:
        for rows, weight, place in zip(batch, weights, out, strict=True):
            np.add(rows @ weight[:-1], weight[-1], out=place)

    def gradients(self, batch: list[Any], errors: Floats, out: Floats) -> None:
        for rows, error, place in zip(batch, errors, out, strict=True):
            place[:-1] = rows.T @ np.ascontiguousarray(error)
            place[-1] = error.sum(axis=0)


def table_of(x: Any) -> FeatureTable:
    """The table of what `as_features` prepared."""
    return _SparseTable(x) if hasattr(x, "indptr") else _DenseTable(x)


def as_features(data: Data, normalize: Normalize, folder: Path | None = None) -> Data:
    """The data with x as `table_of` reads it; large dense features become a file in `folder`.

    Sparse features keep their zeros, so they are not centred: all are multiplied by one number,
    after which rows have a mean squared length of `SPARSE_LENGTH`.

    >>> as_features(Data(np.array([[1.0], [3.0]]), np.array([0, 1])), True).x.tolist()
    [[-1.0, 1.0], [1.0, 1.0]]
    """
    if not hasattr(data.x, "indptr"):
        return as_table(data, normalize, folder, constant=True)
    with np.errstate(over="ignore"):
        mean_square = float((data.x.data.astype(np.float64) ** 2).sum()) / data.x.shape[0]
    if not np.isfinite(mean_square):
        raise InputError("x is too large to standardize; rescale it")
    scale = np.sqrt(SPARSE_LENGTH / mean_square) if normalize and mean_square else 1.0
    made = [None if x is None else _scale(x, scale) for x in (data.x, data.test_x)]
    return replace(data, x=made[0], test_x=made[1])


def _scale(x: Any, scale: float) -> Any:
    out = x.copy()
    out.data = (out.data * scale).astype(np.float32)
    out.sum_duplicates()
    out.eliminate_zeros()
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Predictions of some models for consecutive examples.

    `logits` is (model, class, example); `lengths` (model, example) is the ‖(φ, 1)‖ of what the
    last layer reads, None unless asked for.
    """

    models: slice
    examples: slice
    logits: Floats
    lengths: Floats | None


class Stack:
    """Models in training.

    Args:
        x: Features of the N examples, as `as_features` prepares them.
        labels: Their labels, 0..C-1.
        classes: C.
        recipe: How each model trains; steps run along a cosine.
        hidden: Width of one hidden layer with ReLUs; None means linear models.
        seed: Of the initial weights, together with `streams`.
        streams: The name of each model's streams.
        schedules: What an epoch of each model trains on; as many steps for all.
        threads: How many may work at once; no bit depends on it.

    >>> from dris.learn.trainers.schedules import Passes
    >>> x = np.array([[-1.0, 1.0], [1.0, 1.0]] * 8, dtype=np.float32)
    >>> stack = Stack(x, np.array([0, 1] * 8), 2, Recipe(4, 4, 0.5), hidden=8,
    ...     seed=0, streams=[("a",)], schedules=[Passes(np.arange(16), 4, 0, ("a",))])
    >>> for epoch in (1, 2, 3, 4):
    ...     stack.train_epoch(epoch)
    >>> stack.answers()[0].logits.argmax(axis=1)[:, :2].tolist()
    [[0, 1]]
    """

    def __init__(
        self,
        x: Any,
        labels: NDArray[np.int64],
        classes: int,
        recipe: Recipe,
        *,
        hidden: int | None,
        seed: int,
        streams: Sequence[Stream],
        schedules: Sequence[Schedule],
        threads: int = 1,
    ) -> None:
        self.recipe, self.schedules = recipe, list(schedules)
        self._table, self._labels = table_of(x), labels
        self._width, self._classes, self._hidden = self._table.width, classes, hidden
        drawn = [
            initial_weights(self._width, hidden, classes, rng=rng_for(seed, *stream, "model"))
            for stream in streams
        ]
        self._weights = np.stack(drawn)
        self._speed = np.zeros_like(self._weights)
        self._threads = max(1, threads)

    def __len__(self) -> int:
        return len(self._weights)

    def train_epoch(self, epoch: int) -> None:
        """One epoch of every model; numbers that cease to be finite are left to `broken`."""
        steps = max(schedule.steps for schedule in self.schedules)
        batch = max(schedule.largest for schedule in self.schedules)
        some = max(1, _ROOM // (batch * self._width))
        work = len(self) * steps * batch * self._weights.shape[1] * 3
        if work > _WORTH_A_THREAD:
            some = min(some, -(-len(self) // self._threads))
        parts = [slice(a, min(a + some, len(self))) for a in range(0, len(self), some)]
        self._in_threads(lambda part: self._train(part, epoch, steps, batch), parts, work)

    def broken(self) -> list[int]:
        """Models with a weight that is not finite."""
        with np.errstate(invalid="ignore", over="ignore"):
            return np.flatnonzero(~np.isfinite(self._weights.sum(axis=1))).tolist()

    def answers(
        self,
        visit: Callable[[Answers], Any] | None = None,
        *,
        x: Any = None,
        together: int = 1,
        lengths: bool = False,
    ) -> list[Any]:
        """Predictions of every model for every example, a piece at a time, handed to `visit`.

        For the table's examples, unless others are given as `x`, prepared like them.
        `together` models, such as the folds of a proxy, always come in one piece. Which examples
        make a piece depends on sizes alone. The pieces' order is fixed; the calls may be made at
        the same time by several threads, each for examples of its own.
        """
        table = self._table if x is None else table_of(x)
        rows = max(1, _MEASURED // (self._classes + (self._hidden or 0)))
        some = together * max(1, _TOGETHER // together)
        hand_on = (lambda a: a) if visit is None else visit
        work = len(self) * len(table) * self._weights.shape[1]

        def one(begin: int) -> list[Any]:
            end = min(begin + rows, len(table))
            return [
                hand_on(
                    self._answer(table, slice(m, min(m + some, len(self))), begin, end, lengths)
                )
                for m in range(0, len(self), some)
            ]

        pieces = self._in_threads(one, range(0, len(table), rows), work)
        return [answer for piece in pieces for answer in piece]

    def units(self, x: Any) -> Floats:
        """What each model's last layer reads of examples, (model, example, width), but for the 1.

        Of linear models the features themselves.
        """
        table = table_of(x)
        rows = table.rows(0, len(table), len(self))
        if self._hidden is None:
            plain = x[:, :-1] if isinstance(x, np.ndarray) else x.toarray()
            return np.broadcast_to(plain, (len(self), *plain.shape))
        out = np.empty((len(self), len(table), self._hidden), dtype=np.float32)
        table.product(rows, self._layers(self._weights)[0], out)
        return np.maximum(out, 0, out=out)

    def state(self) -> State:
        """Weights and momentum, copied: all that a later epoch depends on."""
        return {"model.weights": self._weights.copy(), "momentum": self._speed.copy()}

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        self._weights[...] = state["model.weights"]
        if "momentum" in state:
            self._speed[...] = state["momentum"]

    def _in_threads(self, work: Callable[[Any], Any], parts: Sequence[Any], cost: float) -> Any:
        def quietly(part: Any) -> Any:
            with np.errstate(all="ignore"):
                return work(part)

        if self._threads == 1 or len(parts) == 1 or cost < _WORTH_A_THREAD:
            return [quietly(part) for part in parts]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(quietly, parts))

    def _train(self, part: slice, epoch: int, steps: int, batch: int) -> None:
        """All steps of an epoch for some models, in buffers that are made once."""
        at, counts = padded_batches(self.schedules[part], epoch, steps, batch)
        weights, speed = self._weights[part], self._speed[part]
        models = len(weights)
        slope, spare = np.empty_like(weights), np.empty_like(weights)
        first, second, bias = self._layers(weights)
        first_slope, second_slope, bias_slope = self._layers(slope)
        room = self._table.room(models, batch)
        errors = np.empty((models, self._classes, batch), dtype=np.float32)
        by_example = errors.transpose(0, 2, 1)
        flat = errors.reshape(-1)
        # Where in `errors` the label of each visit stands.
        corner = np.arange(models)[:, None] * self._classes * batch + np.arange(batch)
        own = np.empty((0, models, batch), dtype=np.int64)
        if self._hidden is not None:
            units = np.empty((models, batch, self._hidden), dtype=np.float32)
            back, active = np.empty_like(units), np.empty(units.shape, dtype=np.bool_)
            floor = np.zeros_like(units)  # a plain 0 is seven times as slow
            seen_by_unit, second_back = units.transpose(0, 2, 1), second.transpose(0, 2, 1)
        begin, horizon = (epoch - 1) * steps, self.recipe.epochs * steps
        momentum, decay = np.float32(self.recipe.momentum), np.float32(self.recipe.weight_decay)
        for step in range(steps):
            here = step % _LOOKED_UP
            if here == 0:
                own = self._labels[at[step : step + _LOOKED_UP]] * batch + corner
            x = self._table.gather(at[step], room)
            if self._hidden is None:
                self._table.product(x, first, by_example)
            else:
                self._table.product(x, first, units)
                np.maximum(units, floor, out=units)
                np.matmul(second_back, seen_by_unit, out=errors)
                errors += bias[:, :, None]
            # From logits to (p − e_y) times the weight of each visit.
            errors -= errors.max(axis=1, keepdims=True)
            np.exp(errors, out=errors)
            errors *= (counts[step] / errors.sum(axis=1))[:, None]
            flat[own[here]] -= counts[step]
            if self._hidden is None:
                self._table.gradients(x, by_example, first_slope)
            else:
                np.matmul(seen_by_unit, by_example, out=second_slope)
                errors.sum(axis=2, out=bias_slope)
                np.matmul(by_example, second_back, out=back)
                np.multiply(back, np.greater(units, 0, out=active), out=back)
                self._table.gradients(x, back, first_slope)
            speed *= momentum
            speed += slope
            if decay:
                speed += np.multiply(weights, decay, out=spare)
            rate = np.float32(cosine(self.recipe, begin + step, horizon))
            weights -= np.multiply(speed, rate, out=spare)

    def _answer(
        self, table: FeatureTable, models: slice, begin: int, end: int, lengths: bool
    ) -> Answers:
        weights = self._weights[models]
        first, second, bias = self._layers(weights)
        count, rows = len(weights), end - begin
        x = table.rows(begin, end, count)
        logits = np.empty((count, self._classes, rows), dtype=np.float32)
        long = None
        if self._hidden is None:
            table.product(x, first, logits.transpose(0, 2, 1))
            if lengths:
                squares = _squared_lengths(x[0]) + (0.0 if isinstance(x, np.ndarray) else 1.0)
                long = np.broadcast_to(np.sqrt(squares), (count, rows))
        else:
            units = np.empty((count, rows, self._hidden), dtype=np.float32)
            table.product(x, first, units)
            np.maximum(units, np.zeros(self._hidden, dtype=np.float32), out=units)
            np.matmul(second.transpose(0, 2, 1), units.transpose(0, 2, 1), out=logits)
            logits += bias[:, :, None]
            if lengths:
                long = np.sqrt(np.einsum("mru,mru->mr", units, units) + np.float32(1))
        return Answers(models, slice(begin, end), logits, long)

    def _layers(self, flat: Floats) -> tuple[Floats, Floats, Floats]:
        """Views of flat parameters (model, all): first layer with its bias, second, its bias.

        For linear models the first layer is all there is.
        """
        models, width, classes = len(flat), self._width, self._classes
        if self._hidden is None:
            return flat.reshape(models, width, classes), flat[:, :0], flat[:, :0]
        ends = width * self._hidden, (width + classes) * self._hidden
        return (
            flat[:, : ends[0]].reshape(models, width, self._hidden),
            flat[:, ends[0] : ends[1]].reshape(models, self._hidden, classes),
            flat[:, ends[1] :],
        )


def initial_weights(
    width: int, hidden: int | None, classes: int, *, rng: np.random.Generator
) -> Floats:
    """A model's parameters in a row: uniform within √(6 / (inputs + outputs)), biases zero.

    `width` counts the inputs and the bias.
    """
    sizes = [(width - 1, classes)] if hidden is None else [(width - 1, hidden), (hidden, classes)]
    parts: list[Floats] = []
    for inputs, outputs in sizes:
        bound = np.sqrt(6.0 / (inputs + outputs))
        parts.append(rng.uniform(-bound, bound, inputs * outputs).astype(np.float32))
        parts.append(np.zeros(outputs, dtype=np.float32))
    return np.concatenate(parts)


def padded_batches(
    schedules: Sequence[Schedule], epoch: int, steps: int, batch: int
) -> tuple[NDArray[np.integer], Floats]:
    """Positions (step, model, batch) of an epoch, and their weights in their batch's mean.

    A batch that is shorter than the longest is filled up with visits of weight zero.
    """
    shape = (steps, len(schedules), batch)
    at, counts = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.float32)
    for m, schedule in enumerate(schedules):  # one order at a time: together they take room
        batches = schedule.batches(epoch)
        sizes = np.array([len(b) for b in batches])
        filled = np.arange(batch) < sizes[:, None]
        rows = np.concatenate(batches)
        if at.dtype == np.int32 and rows.size and rows.max() > np.iinfo(np.int32).max:
            at = at.astype(np.int64)
        at[: len(batches), m][filled] = rows
        counts[: len(batches), m] = filled / np.maximum(sizes, 1)[:, None]
        if schedule.weights is not None:
            counts[:, m] *= schedule.weights[at[:, m]]
    return at, counts


def _squared_lengths(x: Any) -> NDArray[Any]:
    if isinstance(x, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", x, x))
    return np.asarray(x.multiply(x).sum(axis=1)).ravel()
