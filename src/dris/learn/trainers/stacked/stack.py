"""M small classifiers trained in the same stacked matrix products, in NumPy.

Axis 0 of every array is the model. Weights, orders and steps of each come from streams of its own,
and a batch that is shorter than its neighbours' is filled up with rows of weight zero: so no bit of
a model depends on its neighbours, nor on the number of threads. Features are rows of float32 that
end in a 1, which multiplies the bias.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.streams import rng_for
from dris.learn.recipe import Recipe, cosine
from dris.learn.trainers.job import Data, Normalize
from dris.learn.trainers.standardize import as_table
from dris.learn.trainers.trainer import Schedule, State, Stream

_ROOM = 1 << 24  # numbers in the batches of the models that step together: 64 MB
_MEASURED = 1 << 16  # hidden and output numbers of a model that are measured at once
_TOGETHER = 4  # models that are measured at once: more would leave the cache
_LOOKED_UP = 256  # steps whose labels are looked up at once
_WORTH_A_THREAD = 5e9  # multiplications in an epoch from which threads pay
_WORTH_A_STEP = 3e6  # those in a step of one thread: with fewer, threads wait for each other


Floats = NDArray[np.float32]


def as_features(data: Data, normalize: Normalize, folder: Path | None = None) -> Data:
    """The data with rows of x that end in a 1; large features become a file in `folder`."""
    return as_table(data, normalize, folder, constant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Predictions of some models for consecutive examples, or of one for any."""

    models: slice
    examples: slice | NDArray[np.integer]
    logits: Floats  # (model, class, example)
    lengths: Floats | None  # (model, example), ‖(φ, 1)‖ of what the last layer reads, if asked for


class Stack:
    """Models in training: on features as `as_features` prepares them, one stream and schedule each.

    `hidden` is the width of one hidden layer with ReLUs, None for linear models. All schedules have
    as many steps; no bit depends on how many threads there are.
    """

    def __init__(
        self,
        x: Floats,
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
        self._x, self._labels = x, labels
        self._width, self._classes, self._hidden = x.shape[1], classes, hidden
        rngs = (rng_for(seed, *stream, "model") for stream in streams)
        drawn = [initial_weights(x.shape[1], hidden, classes, rng=rng) for rng in rngs]
        self._weights = np.stack(drawn)
        self._speed = np.zeros_like(self._weights)
        self._marked: Floats | None = None
        self._threads = max(1, threads)
        self._piece = max(1, _MEASURED // (classes + (hidden or 0)))  # rows measured at once

    def __len__(self) -> int:
        return len(self._weights)

    def train_epoch(self, epoch: int) -> None:
        """One epoch of every model; numbers that cease to be finite are left to `broken`."""
        steps = max(schedule.steps for schedule in self.schedules)
        batch = max(schedule.largest for schedule in self.schedules)
        some = max(1, _ROOM // (batch * self._width))
        share = -(-len(self) // self._threads)
        worth = share * batch * self._weights.shape[1] >= _WORTH_A_STEP
        work = worth * len(self) * steps * batch * self._weights.shape[1] * 3
        if work > _WORTH_A_THREAD:
            some = min(some, share)
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
        x: Floats | None = None,
        together: int = 1,
        lengths: bool = False,
    ) -> list[Any]:
        """Predictions of every model for every example, a piece at a time, handed to `visit`.

        For the examples trained on, unless others are given as `x`. `together` models, such as the
        folds of a proxy, always come in one piece. The pieces and their order are fixed; the calls
        may be made by several threads at once, each for examples of its own.
        """
        table, rows = self._x if x is None else x, self._piece
        some = together * max(1, _TOGETHER // together)
        hand_on = visit or (lambda answers: answers)
        work = len(self) * len(table) * self._weights.shape[1]

        def one(begin: int) -> list[Any]:
            at = slice(begin, min(begin + rows, len(table)))
            groups = [slice(m, min(m + some, len(self))) for m in range(0, len(self), some)]
            return [hand_on(self._answer(table[None, at], m, at, lengths)) for m in groups]

        pieces = self._in_threads(one, range(0, len(table), rows), work)
        return [answer for piece in pieces for answer in piece]

    def answer_each(
        self, rows: Sequence[NDArray[np.integer]], visit: Callable[[Answers], Any]
    ) -> None:
        """Predictions of each model for rows of its own, a piece at a time, handed to `visit`."""
        pieces = [
            (slice(m, m + 1), own[a : a + self._piece])
            for m, own in enumerate(rows)
            for a in range(0, len(own), self._piece)
        ]

        def one(piece: tuple[slice, NDArray[np.integer]]) -> None:
            visit(self._answer(self._x[piece[1]][None], *piece, False))

        work = sum(len(own) for own in rows) * self._weights.shape[1]
        self._in_threads(one, pieces, work)

    def state(self) -> State:
        """Weights, momentum and what was marked, copied."""
        marked = {} if self._marked is None else {"marked": self._marked.copy()}
        return {"model.weights": self._weights.copy(), "momentum": self._speed.copy(), **marked}

    def restore(self, state: State) -> None:
        """Go on from what `state` returned."""
        self._weights[...] = state["model.weights"]
        if "momentum" in state:
            self._speed[...] = state["momentum"]
        self._marked = state.get("marked")

    def mark(self) -> None:
        """Remember the weights, to `return_to_mark` once all epochs are trained."""
        self._marked = self._weights.copy()

    def return_to_mark(self) -> None:
        """Take up the weights that were marked last."""
        if self._marked is not None:
            self._weights[...] = self._marked

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
        room = np.empty((models, batch, self._width), dtype=np.float32)
        transposed = room.transpose(0, 2, 1)
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
            # Any mode but "raise", which would gather into a copy of its own first.
            x = np.take(self._x, at[step], axis=0, out=room, mode="clip")
            if self._hidden is None:
                np.matmul(x, first, out=by_example)
            else:
                np.matmul(x, first, out=units)
                np.maximum(units, floor, out=units)
                np.matmul(second_back, seen_by_unit, out=errors)
                errors += bias[:, :, None]
            # From logits to (p − e_y) times the weight of each visit.
            errors -= errors.max(axis=1, keepdims=True)
            np.exp(errors, out=errors)
            errors *= (counts[step] / errors.sum(axis=1))[:, None]
            flat[own[here]] -= counts[step]
            if self._hidden is None:
                np.matmul(transposed, by_example, out=first_slope)
            else:
                np.matmul(seen_by_unit, by_example, out=second_slope)
                errors.sum(axis=2, out=bias_slope)
                np.matmul(by_example, second_back, out=back)
                np.multiply(back, np.greater(units, 0, out=active), out=back)
                np.matmul(transposed, back, out=first_slope)
            speed *= momentum
            speed += slope
            if decay:
                speed += np.multiply(weights, decay, out=spare)
            rate = np.float32(cosine(self.recipe, begin + step, horizon))
            weights -= np.multiply(speed, rate, out=spare)

    def _answer(self, x: Floats, models: slice, examples: Any, lengths: bool) -> Answers:
        weights = self._weights[models]
        first, second, bias = self._layers(weights)
        count, rows = len(weights), x[0].shape[0]
        logits = np.empty((count, self._classes, rows), dtype=np.float32)
        long = None
        if self._hidden is None:
            np.matmul(x, first, out=logits.transpose(0, 2, 1))
            if lengths:
                squares = np.einsum("ij,ij->i", x[0], x[0])
                long = np.broadcast_to(np.sqrt(squares), (count, rows))
        else:
            units = np.empty((count, rows, self._hidden), dtype=np.float32)
            np.matmul(x, first, out=units)
            np.maximum(units, np.zeros(self._hidden, dtype=np.float32), out=units)
            np.matmul(second.transpose(0, 2, 1), units.transpose(0, 2, 1), out=logits)
            logits += bias[:, :, None]
            if lengths:
                long = np.sqrt(np.einsum("mru,mru->mr", units, units) + np.float32(1))
        return Answers(models, examples, logits, long)

    def _layers(self, flat: Floats) -> tuple[Floats, Floats, Floats]:
        """Views of flat parameters (model, all): first layer with its bias, second, its bias."""
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
    """A model's parameters in a row: uniform within √(6 / (inputs + outputs)), biases zero."""
    # The width counts the inputs and the bias.
    sizes = [(width - 1, classes)] if hidden is None else [(width - 1, hidden), (hidden, classes)]
    parts: list[Floats] = []
    for inputs, outputs in sizes:
        bound = np.sqrt(6.0 / (inputs + outputs))
        parts.append(rng.uniform(-bound, bound, inputs * outputs).astype(np.float32))
        parts.append(np.zeros(outputs, dtype=np.float32))
    return np.concatenate(parts)


def class_probabilities(logits: Floats) -> Floats:
    """Probabilities (example, class) from logits (class, example); none is 0, for a logarithm."""
    z = logits.T
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return np.asarray(np.maximum(p, np.finfo(np.float32).tiny))


def padded_batches(
    schedules: Sequence[Schedule], epoch: int, steps: int, batch: int
) -> tuple[NDArray[np.integer], Floats]:
    """Positions (step, model, batch) of an epoch, and their weights in their batch's mean."""
    shape = (steps, len(schedules), batch)
    at, counts = np.zeros(shape, dtype=np.int32), np.zeros(shape, dtype=np.float32)
    for m, schedule in enumerate(schedules):  # one order at a time: together they take room
        batches = schedule.batches(epoch)
        sizes = np.array([len(b) for b in batches])
        filled = np.arange(batch) < sizes[:, None]
        rows = np.concatenate(batches)
        if rows.max(initial=0) > np.iinfo(at.dtype).max:
            at = at.astype(np.int64)
        at[: len(batches), m][filled] = rows
        counts[: len(batches), m] = filled / np.maximum(sizes, 1)[:, None]
    return at, counts
