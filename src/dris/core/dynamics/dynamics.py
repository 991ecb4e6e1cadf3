"""What each proxy thought of each example, epoch by epoch: training makes it, deciding reads it.

Axes everywhere: proxy, epoch, example. A score asks for two things only: `snapshot(column)` at the
scored epoch, and `totals()` over all epochs. The *summary* form keeps just those.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics import columns as recorded
from dris.core.dynamics.columns import TRAJECTORIES, Axes, ClassProbabilities, Column, Totals
from dris.core.errors import InputError
from dris.core.validate import alignment, check_count, check_ids


@dataclass(frozen=True, slots=True, eq=False)
class Dynamics:
    """Loss, margin, correctness and error norm of K proxies on N examples over E epochs.

    Cross-fitted proxies also have `out_of_fold`: the same columns, from models that did not train
    on the example; stacked ones have these models' `probabilities` at the scored epoch as well.

    >>> dynamics = Dynamics.from_losses([[0.1, 2.0, 0.7], [0.2, 1.0, 1.5]])
    >>> dynamics
    Dynamics(2 proxies, 1 epochs, 3 examples; loss; scored at epoch 1)
    """

    columns: Mapping[str, Column]
    ids: NDArray[Any]
    epochs: tuple[int, ...]
    scored_epoch: int
    labels: NDArray[np.int64] | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    stored_totals: Totals | None = None
    out_of_fold: "Dynamics | None" = None
    probabilities: ClassProbabilities | None = None

    def __post_init__(self) -> None:
        """Give the out-of-fold values this one's axes, so that replace(ids=...) reaches both."""
        other = self.out_of_fold
        if other is None:
            return
        shape, wanted = other.columns["loss"].shape, self.columns["loss"].shape
        if shape != wanted or other.is_summary != self.is_summary:
            raise InputError(
                f"out-of-fold values must be shaped like the others, {wanted}, got {shape}; "
                "reorder or summarise both: dynamics.reorder(...), dynamics.summary()"
            )
        own = {name: getattr(self, name) for name in ("ids", "labels", "epochs", "scored_epoch")}
        other = replace(other, **own, provenance={}, out_of_fold=None, probabilities=None)
        object.__setattr__(self, "out_of_fold", other)

    @classmethod
    def from_arrays(
        cls,
        *,
        loss: ArrayLike,
        margin: ArrayLike | None = None,
        correct: ArrayLike | None = None,
        error_norm: ArrayLike | None = None,
        gradient_norm: ArrayLike | None = None,
        rival: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        epochs: Sequence[int] | None = None,
        scored_epoch: int | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> "Dynamics":
        """From (K, E, N) arrays, or (K, N) for a single epoch; scored at E/2 unless said."""
        values = (loss, margin, correct, error_norm, gradient_norm, rival)
        given = zip(TRAJECTORIES, values, strict=True)
        columns = {
            name: recorded.check_column(name, value) for name, value in given if value is not None
        }
        shape = columns["loss"].shape
        for name, column in columns.items():
            if column.shape != shape:
                raise InputError(
                    f"{name} must have the shape of loss, {shape}, got {column.shape}: "
                    "(proxy, epoch, example)"
                )
        if 0 in shape:
            raise InputError(f"dynamics need a proxy, an epoch and an example, got shape {shape}")
        at = recorded.check_epochs(epochs, shape[1])
        scored = at[(len(at) - 1) // 2]
        if scored_epoch is not None:
            scored = check_count(scored_epoch, "scored_epoch", at_least=0)
        if scored not in at:
            raise InputError(
                f"scored_epoch {scored} was not recorded; recorded: {recorded.spans(at)}"
            )
        return cls(
            columns=columns,
            ids=check_ids(ids, shape[2]),
            epochs=at,
            scored_epoch=scored,
            labels=None if labels is None else recorded.labels_for(labels, shape[2]),
            provenance=dict(provenance or {}),
        )

    @classmethod
    def from_losses(cls, losses: ArrayLike, *, ids: ArrayLike | None = None) -> "Dynamics":
        """From a (K, N) loss matrix alone; float64 losses stay float64."""
        return cls.from_arrays(loss=losses, ids=ids)

    @classmethod
    def from_logits(cls, logits: ArrayLike, labels: ArrayLike, **axes: Unpack[Axes]) -> "Dynamics":
        """From logits (K, N, C) or (K, E, N, C) and labels (N,); `axes` as in `from_arrays`."""
        z = recorded.check_outputs(logits, "logits")
        y = recorded.labels_for(labels, z.shape[-2], z.shape[-1])
        return cls.from_arrays(**recorded.trajectories_of(z, y), labels=y, **axes)

    @classmethod
    def from_probabilities(
        cls, probabilities: ArrayLike, labels: ArrayLike, **axes: Unpack[Axes]
    ) -> "Dynamics":
        """From class probabilities (K, N, C) or (K, E, N, C); zero counts as the smallest float."""
        p = recorded.check_outputs(probabilities, "probabilities")
        if p.size and (p.min() < 0 or np.abs(p.sum(axis=-1) - 1).max() > 1e-3):
            raise InputError(
                "probabilities must be non-negative and sum to 1 over the last axis; "
                "for unnormalised outputs use Dynamics.from_logits"
            )
        logits = np.log(np.maximum(p, np.finfo(p.dtype).tiny))
        return cls.from_logits(logits, labels, **axes)

    @classmethod
    def merge(cls, parts: "Sequence[Dynamics]") -> "Dynamics":
        """Join proxies trained apart, examples matched by id; the first part's order stays."""
        if not parts:
            raise InputError("merge needs at least one Dynamics, got none")
        first, *others = parts
        aligned = [first, *(_align(first, part, k) for k, part in enumerate(others, 1))]
        outside = [part.out_of_fold for part in aligned if part.out_of_fold is not None]
        names, made = first.columns, [entry for part in aligned for entry in part.made()]
        return replace(
            first,
            columns={n: np.concatenate([part.columns[n] for part in aligned]) for n in names},
            provenance={**first.provenance, "proxies": made},
            stored_totals=first.stored_totals and Totals.join([part.totals() for part in aligned]),
            out_of_fold=cls.merge(outside) if outside else None,
            probabilities=ClassProbabilities.join([part.probabilities for part in aligned]),
        )

    @property
    def proxies(self) -> int:
        """K, the number of proxies."""
        return int(self.columns["loss"].shape[0])

    @property
    def examples(self) -> int:
        """N, the number of examples."""
        return int(self.columns["loss"].shape[2])

    loss = property(lambda self: self.column("loss"), doc="As (proxy, epoch, example).")
    margin = property(lambda self: self.column("margin"), doc="As (proxy, epoch, example).")
    correct = property(lambda self: self.column("correct"), doc="Whether the label was predicted.")
    error_norm = property(lambda self: self.column("error_norm"), doc="‖p − onehot(label)‖.")

    @property
    def is_summary(self) -> bool:
        """True if only the scored epoch and the totals are held."""
        return self.stored_totals is not None

    def column(self, name: str) -> Column:
        """A column by name, or an error naming what is missing and how to get it."""
        if name not in self.columns:
            remedy = f"known columns: {', '.join(TRAJECTORIES)}"
            if name in recorded.ON_DEMAND:
                remedy = f"record it: train_proxies(..., {name}=True), or pass {name}="
            elif name in TRAJECTORIES:
                remedy = f"build the Dynamics from logits or probabilities, or pass {name}="
            raise InputError(f"this needs {name}, which these dynamics do not hold; {remedy}")
        return self.columns[name]

    def require_out_of_fold(self) -> "Dynamics":
        """The out-of-fold values, or an error saying how to get them."""
        if self.out_of_fold is None:
            raise InputError(
                "this needs values out of fold, which these dynamics do not hold; "
                "train with folds: train_proxies(..., cross_fit=4)"
            )
        return self.out_of_fold

    def snapshot(self, name: str) -> Column:
        """A (K, N) column at the scored epoch."""
        return np.asarray(self.column(name)[:, self.epochs.index(self.scored_epoch)])

    def at(self, epoch: int) -> "Dynamics":
        """The same dynamics scored at another recorded epoch; nothing is copied."""
        if epoch not in self.epochs:
            what = "this summary holds" if self.is_summary else "recorded:"
            raise InputError(f"epoch {epoch} is not held; {what} {recorded.spans(self.epochs)}")
        probabilities = self.probabilities if epoch == self.scored_epoch else None
        return replace(self, scored_epoch=int(epoch), probabilities=probabilities)

    def until(self, epoch: int) -> "Dynamics":
        """The same dynamics up to a recorded epoch, scored there; nothing is copied."""
        there = self.at(epoch)
        end = self.epochs.index(there.scored_epoch) + 1
        return there._derive(lambda column: column[:, :end], epochs=self.epochs[:end])

    def totals(self) -> Totals:
        """Sums over all recorded epochs, stored in a summary, added up here otherwise."""
        if self.stored_totals is not None:
            return self.stored_totals
        running = recorded.TotalsAccumulator(self.proxies, self.examples)
        summed = [self.columns.get("margin"), self.columns.get("correct")]
        for e in range(len(self.epochs)):
            running.add(*(None if column is None else column[:, e] for column in summed))
        return running.totals()

    def summary(self) -> "Dynamics":
        """Only what the scores need, O(K·N) instead of O(K·E·N); same scores to the last bit."""
        if self.is_summary:
            return self
        e = self.epochs.index(self.scored_epoch)
        return self._derive(
            lambda column: np.array(column[:, e : e + 1]),
            totals=Dynamics.totals,
            epochs=(self.scored_epoch,),
        )

    def only(self, proxies: Sequence[int]) -> "Dynamics":
        """The dynamics of some proxies, in the order given (nested ensembles, halves)."""
        chosen = list(proxies)
        if not chosen or not all(0 <= k < self.proxies for k in chosen):
            raise InputError(f"proxies must be among 0..{self.proxies - 1}, got {chosen}")
        if chosen == list(range(self.proxies)):
            return self
        made = self.made()
        return self._derive(
            lambda column: column[chosen],
            totals=lambda d: d.stored_totals and d.stored_totals.pick(chosen),
            provenance={**self.provenance, "proxies": [made[k] for k in chosen]},
            probabilities=self.probabilities and self.probabilities.pick(chosen),
        )

    def reorder(self, order: ArrayLike) -> "Dynamics":
        """The examples at these positions, in this order, with all that belongs to them."""
        at = np.asarray(order, dtype=np.intp)
        here = (slice(None), at)
        return self._derive(
            lambda column: column[:, :, at],
            totals=lambda d: d.stored_totals and d.stored_totals.pick(here),
            ids=self.ids[at],
            labels=None if self.labels is None else self.labels[at],
            probabilities=self.probabilities and self.probabilities.pick(here),
        )

    def _derive(
        self,
        trajectory: Callable[[Column], Column],
        *,
        totals: Callable[["Dynamics"], Totals | None] = lambda d: d.stored_totals,
        **changes: Any,
    ) -> "Dynamics":
        """A copy whose columns and totals are changed alike in fold and out of fold."""
        other = self.out_of_fold
        if other is not None:
            other = other._derive(trajectory, totals=totals)
        changes["columns"] = {name: trajectory(column) for name, column in self.columns.items()}
        return replace(self, stored_totals=totals(self), out_of_fold=other, **changes)

    def to_frame(self, kind: recorded.FrameKind = "pandas") -> Any:
        """A row per proxy, epoch and example with every recorded column, for pandas or polars."""
        marks = {"proxy": np.arange(self.proxies), "epoch": np.array(self.epochs), "id": self.ids}
        return recorded.frame_of(recorded.long_columns(self.columns, **marks), kind)

    def save(self, path: str | Path) -> Path:
        """Write one checksummed file, atomically: the old one stays until the new is complete."""
        from dris.core.dynamics.dynamics_file import write_dynamics

        return write_dynamics(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> "Dynamics":
        """Read what `save` wrote, memory-mapped; a damaged or foreign file is refused."""
        from dris.core.dynamics.dynamics_file import read_dynamics

        return read_dynamics(Path(path))

    def __repr__(self) -> str:
        form = "summary of " if self.is_summary else ""
        folds = "" if self.out_of_fold is None else ", in fold and out of fold"
        return (
            f"Dynamics({self.proxies} proxies, {form}{self.totals_epochs} epochs, "
            f"{self.examples} examples; {', '.join(self.columns)}{folds}; "
            f"scored at epoch {self.scored_epoch})"
        )

    @property
    def totals_epochs(self) -> int:
        """How many epochs the totals run over."""
        return self.stored_totals.epochs if self.stored_totals else len(self.epochs)

    def made(self) -> list[Any]:
        """How each proxy was made: one entry of the provenance per proxy, empty where unknown."""
        entries = self.provenance.get("proxies")
        if isinstance(entries, list | tuple) and len(entries) == self.proxies:
            return list(entries)
        return [{} for _ in range(self.proxies)]


def _align(first: Dynamics, part: Dynamics, k: int) -> Dynamics:
    """`part` with its examples in the order of `first`; whatever differs is an error."""
    for what, a, b in (
        ("recorded epochs", part.epochs, first.epochs),
        ("scored epoch", part.scored_epoch, first.scored_epoch),
        ("epochs summed", part.totals_epochs, first.totals_epochs),
        ("form (summary or full)", part.is_summary, first.is_summary),
        ("columns", sorted(part.columns), sorted(first.columns)),
        ("folds (values out of fold)", bool(part.out_of_fold), bool(first.out_of_fold)),
    ):
        if a != b:
            raise InputError(f"part {k} cannot be merged: its {what} {a} differ from part 0's {b}")
    order = alignment(part.ids, first.ids)
    if order is None:
        raise InputError(f"part {k} cannot be merged: its example ids are not those of part 0")
    if not np.array_equal(order, np.arange(len(order))):  # else nothing is copied
        part = part.reorder(order)
    x, y = part.labels, first.labels
    if (x is None) != (y is None) or (x is not None and not np.array_equal(x, np.asarray(y))):
        raise InputError(f"part {k} cannot be merged: its labels differ from part 0's")
    return part


def best_epoch(dynamics: Dynamics) -> int:
    """The epoch with the smallest mean out-of-fold loss: later ones memorise wrong labels."""
    loss = dynamics.require_out_of_fold().loss
    if dynamics.is_summary:
        raise InputError(
            "a summary holds one epoch, so there is none to pick; train with "
            'scored_epoch="held_out", which picks it as it goes'
        )
    means = [loss[:, e].mean(dtype=np.float64) for e in range(loss.shape[1])]
    return dynamics.epochs[int(np.argmin(means))]


def held_from(dynamics: Dynamics, epoch: int, last: int) -> Dynamics:
    """Repeat an epoch for all later ones up to `last`, as if training had stopped there.

    Proxies with different best epochs can then be merged. A summary holds only the scored epoch: it
    is added to the totals once more each.

    >>> d = Dynamics.from_arrays(loss=[[[3.0], [1.0], [2.0]]])
    >>> held_from(d, 2, 4).loss.tolist(), held_from(d, 2, 4).scored_epoch
    ([[[3.0], [1.0], [1.0], [1.0]]], 4)
    """
    epochs = (last,) if dynamics.is_summary else tuple(range(1, last + 1))
    outside = dynamics.out_of_fold
    changes: dict[str, Any] = {
        "epochs": epochs,
        "scored_epoch": last,
        "out_of_fold": None if outside is None else held_from(outside, epoch, last),
    }
    if dynamics.is_summary:
        totals = dynamics.totals()
        more = max(0, last - totals.epochs)
        if totals.margin is not None and more:
            totals = replace(totals, margin=totals.margin + more * dynamics.snapshot("margin"))
        return replace(dynamics, stored_totals=replace(totals, epochs=last), **changes)
    if dynamics.epochs == epochs and dynamics.scored_epoch == epoch == last:
        return dynamics
    at = np.minimum(np.arange(last), epoch - 1)
    columns = {name: column[:, at] for name, column in dynamics.columns.items()}
    return replace(dynamics, columns=columns, **changes)
