"""The columns of a `Dynamics`: names, checks, values from logits, and running sums over epochs."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.errors import InputError
from dris.core.validate import as_floats, check_count, check_labels, first_not_finite

Column = NDArray[Any]
FrameKind = Literal["pandas", "polars"]

TRAJECTORIES = ("loss", "margin", "correct", "error_norm", "gradient_norm", "rival")
ON_DEMAND = ("gradient_norm", "rival")  # recorded only when asked for


class Axes(TypedDict, total=False):
    """What names the axes of a `Dynamics`."""

    ids: ArrayLike | None
    epochs: Sequence[int] | None
    scored_epoch: int | None
    provenance: Mapping[str, Any] | None


def check_column(name: str, value: ArrayLike) -> Column:
    """A trajectory column as (K, E, N): finite float32/float64, booleans, or classes as int32."""
    a = np.asarray(value)
    if a.ndim == 2:
        a = a[:, np.newaxis]
    if a.ndim != 3:
        raise InputError(
            f"{name} must be (proxy, epoch, example) or (proxy, example), got {a.shape}"
        )
    if name == "correct":
        if a.dtype != np.bool_:
            raise InputError(f"correct must be booleans, got {a.dtype}")
        return a
    if name == "rival":
        if a.dtype.kind not in "iu" or (a.size and not 0 <= a.min() <= a.max() < 2**31):
            raise InputError(f"rival must be classes, whole numbers from 0, got {a.dtype}")
        return a.astype(np.int32, copy=False)
    a = as_floats(a, name)
    refuse_not_finite(a, name)
    return a


def refuse_not_finite(a: Column, name: str) -> None:
    """Raise at the first NaN or infinity, naming its place."""
    bad = first_not_finite(a)
    if bad is None:
        return
    place = np.unravel_index(bad, a.shape)
    axes = ("proxy", "epoch", "example")[-a.ndim :] if name in TRAJECTORIES else ("row", "column")
    where = ", ".join(f"{axis} {int(i)}" for axis, i in zip(axes, place, strict=False))
    raise InputError(f"{name} must be finite, got {a[place]} at {where}")


def check_outputs(values: ArrayLike, name: str) -> Column:
    """Model outputs as a finite (K, E, N, C) array with at least two classes."""
    a = as_floats(values, name)
    if a.ndim == 3:
        a = a[:, np.newaxis]
    if a.ndim != 4 or a.shape[-1] < 2:
        raise InputError(
            f"{name} must be (proxy, [epoch,] example, class) with at least two classes, "
            f"got shape {np.shape(values)}"
        )
    bad = first_not_finite(a)
    if bad is not None:
        raise InputError(f"{name} must be finite, got {a.flat[bad]} at position {bad}")
    return a


def labels_for(labels: ArrayLike, n: int, classes: int | None = None) -> NDArray[np.int64]:
    """Given labels, one per example; a single class is fine here."""
    y = check_labels(labels, classes, least=1)
    if len(y) != n:
        raise InputError(f"labels must be one per example: {n} examples, {len(y)} labels")
    return y


def check_epochs(epochs: Sequence[int] | None, count: int) -> tuple[int, ...]:
    """The recorded epochs, increasing; 1..E when not given."""
    given = range(1, count + 1) if epochs is None else epochs
    at = tuple(check_count(e, "epochs", at_least=0) for e in given)
    if len(at) != count or any(b <= a for a, b in pairwise(at)):
        raise InputError(f"epochs must be {count} increasing numbers, got {list(at)}")
    return at


def spans(epochs: Sequence[int]) -> str:
    """The recorded epochs in words."""
    if len(epochs) == 1:
        return f"epoch {epochs[0]}"
    return f"{len(epochs)} epochs, {epochs[0]} to {epochs[-1]}"


def frame_of(columns: Mapping[str, NDArray[Any]], kind: FrameKind = "pandas") -> Any:
    """Columns of equal length as a `DataFrame` of pandas or polars."""
    if kind not in ("pandas", "polars"):
        raise InputError(f"kind must be pandas or polars, got {kind!r}")
    try:
        library = importlib.import_module(kind)
    except ModuleNotFoundError:
        raise InputError(f"{kind} is not installed; get it with: pip install {kind}") from None
    return library.DataFrame(dict(columns))


def long_columns(columns: Mapping[str, NDArray[Any]], **marks: NDArray[Any]) -> dict[str, Any]:
    """(proxy, epoch, example) values as columns of K·E·N rows, beside a name for each place."""
    grids = np.meshgrid(*(np.asarray(mark) for mark in marks.values()), indexing="ij")
    axes = {name: grid.ravel() for name, grid in zip(marks, grids, strict=True)}
    return {**axes, **{name: np.asarray(values).ravel() for name, values in columns.items()}}


def trajectories_of(logits: NDArray[Any], labels: NDArray[np.int64]) -> dict[str, Column]:
    """Loss, margin, correctness and error norm from logits (..., N, C) and labels (N,).

    Loss is the softmax cross-entropy, margin the label's logit less the largest other one, error
    norm ‖softmax − onehot‖; in float64, kept in the precision of the logits.
    """
    others, at_label, runner_up = _label_apart(logits, labels, np.float64)
    margin = at_label - runner_up
    # Softmax weights relative to the largest logit; the label's own is set apart, so that neither
    # loss nor error of a confident example loses its digits to 1 + tiny: own - 1 is then 0.
    top = np.maximum(at_label, runner_up)
    rest = np.exp(np.subtract(others, top, out=others), out=others)
    own, rest_mass = np.exp(at_label - top), rest.sum(axis=0)
    loss = top - at_label + np.log1p(rest_mass + (own - 1))
    rest_squares = np.multiply(rest, rest, out=rest).sum(axis=0)
    error_norm = np.sqrt(rest_squares + rest_mass**2) / (own + rest_mass)
    kept = logits.dtype if logits.dtype in (np.float32, np.float64) else np.float32
    values = {"loss": loss, "margin": margin, "error_norm": error_norm}
    shape = logits.shape[:-1]
    columns = {name: column.astype(kept).reshape(shape) for name, column in values.items()}
    return columns | {"correct": _correct(margin.reshape(shape), logits, labels)}


def margins_of(logits: NDArray[Any], labels: NDArray[np.int64]) -> dict[str, Column]:
    """Margin and correctness alone, to the bit as in `trajectories_of`; float logits only."""
    _, at_label, runner_up = _label_apart(logits, labels, logits.dtype)
    margin = (at_label - runner_up).reshape(logits.shape[:-1])
    return {"margin": margin, "correct": _correct(margin, logits, labels)}


def rivals_of(logits: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.int32]:
    """The class with the largest logit besides the label; among equal ones the first."""
    others, _, _ = _label_apart(logits, labels, logits.dtype)
    rivals = np.asarray(others.argmax(axis=0), dtype=np.int32)
    return rivals.reshape(logits.shape[:-1])


def _label_apart(
    logits: NDArray[Any], labels: NDArray[np.int64], dtype: Any
) -> tuple[Column, Column, Column]:
    """The other classes' logits (C, M), −inf at the label; the label's; the others' largest."""
    z = np.array(logits.reshape(-1, logits.shape[-1]).T, dtype=dtype, order="C")
    _, m = z.shape
    at = np.broadcast_to(labels, logits.shape[:-1]).ravel() * m + np.arange(m)
    at_label = z.take(at)
    z.put(at, -np.inf)
    return z, at_label, z.max(axis=0)


def _correct(margin: Column, logits: NDArray[Any], labels: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the label has the largest logit; among equal ones the first class wins."""
    correct = margin > 0
    tied = np.nonzero(margin == 0)
    correct[tied] = logits[tied].argmax(axis=-1) == labels[tied[-1]]
    return correct


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over epochs, per (proxy, example), in float64; None where the column is missing."""

    epochs: int
    margin: NDArray[np.float64] | None
    forgotten: NDArray[np.int32] | None
    learned: NDArray[np.bool_] | None

    def pick(self, index: Any) -> "Totals":
        """The totals at an index into (proxy, example)."""
        return Totals(self.epochs, *(None if a is None else a[index] for a in self._arrays()))

    @classmethod
    def join(cls, parts: "Sequence[Totals]") -> "Totals":
        """The totals of proxies trained apart, one after the other."""
        rows = zip(*(part._arrays() for part in parts), strict=True)
        joined = (None if any(a is None for a in row) else np.concatenate(row) for row in rows)
        return cls(parts[0].epochs, *joined)

    def _arrays(self) -> tuple[Any, Any, Any]:
        return self.margin, self.forgotten, self.learned


class TotalsAccumulator:
    """Adds epochs up one by one, the only place where that is done."""

    def __init__(self, proxies: int, examples: int) -> None:
        kinds = {"margin": float, "forgotten": np.int32, "learned": bool, "was_right": bool}
        self._sums = {name: np.zeros((proxies, examples), kind) for name, kind in kinds.items()}
        self._epochs = 0

    def add(self, margin: Column | None, correct: Column | None) -> None:
        """Add one epoch's (K, N) margins and correctness, either of which may be missing."""
        self._epochs += 1
        sums = self._sums
        if margin is None:
            sums.pop("margin", None)
        elif "margin" in sums:
            sums["margin"] += margin
        if correct is None:
            sums.pop("forgotten", None)
        elif "forgotten" in sums:
            sums["forgotten"] += sums["was_right"] & ~correct
            sums["learned"] |= correct
            sums["was_right"] = np.array(correct)

    def totals(self) -> Totals:
        """What has been added up so far."""
        sums = self._sums
        learned = sums["learned"] if "forgotten" in sums else None
        return Totals(self._epochs, sums.get("margin"), sums.get("forgotten"), learned)

    def state(self, *, copy: bool = True) -> dict[str, Any]:
        """All that is needed to go on later; without copies for who writes it away at once."""
        sums = {name: a.copy() if copy else a for name, a in self._sums.items()}
        return {"epochs": self._epochs, **sums}

    @classmethod
    def resume(cls, state: Mapping[str, Any]) -> "TotalsAccumulator":
        """An accumulator that goes on where `state` was taken."""
        running = cls(0, 0)
        running._epochs = int(state["epochs"])
        running._sums = {name: state[name].copy() for name in running._sums if name in state}
        return running


# -- class probabilities out of fold ---------------------------------------------------------------

Floats = NDArray[np.float32]
MAX_DENSE_CLASSES = 64  # with more, each example keeps its likeliest classes only
KEPT_CLASSES = 13  # the given label's and twelve others
_AT_ONCE = 1 << 22  # probabilities that are spread out at a time


@dataclass(frozen=True, slots=True, eq=False)
class ClassProbabilities:
    """Out-of-fold class probabilities at the scored epoch.

    `values` is (proxy, example, class). With more than 64 classes it is (proxy, example, 13):
    `kept` says which classes these are, and the others share what is left evenly. `fold` (proxy,
    example) is the fold each example is in.
    """

    values: Floats
    fold: NDArray[Any]
    classes: int
    kept: NDArray[np.int32] | None = None

    def dense(self, rows: slice = slice(None)) -> Floats:
        """All probabilities of some examples, (proxy, example, class)."""
        values = self.values[:, rows]
        if self.kept is None:
            return values
        left = np.maximum(1 - values.sum(axis=2, keepdims=True), 0)
        out = np.repeat(left / (self.classes - values.shape[2]), self.classes, axis=2)
        np.put_along_axis(out, self.kept[:, rows].astype(np.intp), values, axis=2)
        return out

    def likeliest(
        self, labels: Sequence[NDArray[np.integer]], count: int = KEPT_CLASSES
    ) -> tuple[NDArray[np.int32], Floats]:
        """Each row's labels and likeliest other classes, ascending, with all probabilities."""
        count = min(count, self.classes)
        proxies, n = self.values.shape[:2]
        classes = np.empty((n, count), dtype=np.int32)
        values = np.empty((proxies, n, count), dtype=np.float32)
        step = max(1, _AT_ONCE // (proxies * self.classes))
        for rows in (slice(a, a + step) for a in range(0, n, step)):
            p = self.dense(rows)
            classes[rows] = top = likeliest_classes(
                p.mean(axis=0), [given[rows] for given in labels], count
            )
            values[:, rows] = np.take_along_axis(p, top[None].astype(np.intp), axis=2)
        return classes, values

    def pick(self, at: Any) -> "ClassProbabilities":
        """Those of some proxies, or at `(slice(None), positions)` of some examples."""
        kept = None if self.kept is None else self.kept[at]
        return replace(self, values=self.values[at], fold=self.fold[at], kept=kept)

    @staticmethod
    def join(parts: "Sequence[ClassProbabilities | None]") -> "ClassProbabilities | None":
        """Those of proxies trained separately, on the same examples; None if any has none."""
        held = [part for part in parts if part is not None]
        if not held or len(held) < len(parts):
            return None
        kept = [part.kept for part in held if part.kept is not None]
        return replace(
            held[0],
            values=np.concatenate([part.values for part in held]),
            fold=np.concatenate([part.fold for part in held]),
            kept=np.concatenate(kept) if kept else None,
        )


def likeliest_classes(
    p: Floats, labels: Sequence[NDArray[np.integer]], count: int = KEPT_CLASSES
) -> NDArray[np.int32]:
    """The labels and the likeliest other classes of each example, ascending; `p` is changed."""
    for given in labels:
        np.put_along_axis(p, given[:, None], np.inf, axis=1)
    top = np.argpartition(-p, count - 1, axis=1)[:, :count]
    return np.sort(top, axis=1).astype(np.int32)
