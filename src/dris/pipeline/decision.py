"""What to do about each example and why: the noun that every door shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.limits import ContaminationLimit, CorruptionLimit, widest
from dris.core.checks.judgement import Judgement
from dris.core.dynamics.columns import FrameKind, frame_of
from dris.core.errors import InputError, suggest_name
from dris.core.noise.noise_rate import NoiseRate
from dris.core.sanitize import plain_html
from dris.core.scores.formulas import SCORES
from dris.core.select.importance import Importance, importance
from dris.core.select.rules import Rule
from dris.core.subset import Subset
from dris.core.validate import read_only
from dris.data.labelled import LabelledData
from dris.pipeline.choice import Choice, choose_rows
from dris.pipeline.ensemble import Ensemble
from dris.pipeline.harm import Harm
from dris.pipeline.suspects import Suspects, labels_to_consider
from dris.pipeline.wording import terminal_lines


@dataclass(frozen=True, slots=True, eq=False)
class Weighting:
    """How often to draw each example and how much it counts (paper, eq. 7)."""

    score: str  # what it goes by
    importance: Importance  # the plan over those examples that can be drawn
    positions: NDArray[np.int64]  # which examples those are
    examples: int  # how many there are in all

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Of every example; 0 for those that are never drawn."""
        return self._spread(self.importance.probabilities)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Of every example; 0 for those that are never drawn."""
        return self._spread(self.importance.weights)

    def _spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = np.zeros(self.examples)
        whole[self.positions] = values
        return whole


def check_weighting(score: str, *, smoothing: float, exponent: float) -> None:
    """Refuse, before anything trains, what no weighting can be made of."""
    if score not in SCORES:
        near = suggest_name(score, SCORES)
        raise InputError(f"weights need a score, one of {', '.join(SCORES)}, got {score!r}{near}")
    importance([1.0, 2.0], smoothing=smoothing, weight_exponent=exponent)


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What to train on, which labels to look at, and how much may still be wrong.

    Attributes:
        data: What was decided about.
        kept: Positions of the examples to train on, sorted.
        suspicion: How much each given label looks wrong, float64, larger is more.
        suspects: The labels to look at, the most suspicious first; dropped or not.
        rule: The rule that was used: "clean", where models lose by that "everything", or one of
            `dris rules`.
        keep: α as it was asked for; None to drop suspects only.
        judgement: What the canaries say of the data; None without canaries.
        limits: On wrong labels among exactly the kept, one per kind of canaries.
        corruption: On wrong labels in all of the data, likewise.
        harm: Whether following the advice helps; None where it was not measured.
        noise_rate: The share of wrong labels as a range; None without folds.
        contradicted: Share of the kept labels that another class is likelier than out of fold.
        fixed: The labels with suggested ones where proxies are sure; None unless asked for.
        notes: What a person should know, a sentence each.
        short: How many fewer than asked for pass a gate.
        ensemble: The proxies behind it; None where there was too little data to train any.
        used: The rule with its parameters; None where everything is kept.
        weighting: How often to draw each example, where `dris.weights` was asked.

    >>> import dris
    >>> few = LabelledData.of(np.eye(2), [0, 1], classes=("cat", "dog"))
    >>> print(dris.clean(few))
    found  0 of 2 labels look wrong
    kept   2 of 2 by everything
    change nothing: every row stays as it is
    note   2 examples cannot show wrong labels (two classes and 50 examples are the least)
    """

    data: LabelledData
    kept: NDArray[np.int64]
    suspicion: NDArray[np.float64]
    suspects: Suspects | None
    rule: str
    keep: float | None
    judgement: Judgement | None = None
    limits: tuple[ContaminationLimit, ...] = ()
    corruption: tuple[CorruptionLimit, ...] = ()
    harm: Harm | None = None
    noise_rate: NoiseRate | None = None
    contradicted: float = 0.0
    fixed: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    short: int = 0
    ensemble: Ensemble | None = None
    used: Rule | None = None
    weighting: Weighting | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", read_only(self.kept, np.int64))
        object.__setattr__(self, "suspicion", read_only(self.suspicion, np.float64))

    def __len__(self) -> int:
        return len(self.data)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """True for the examples to train on, one entry per example."""
        mask = np.zeros(len(self.data), dtype=np.bool_)
        mask[self.kept] = True
        return mask

    @property
    def labels(self) -> NDArray[np.int64]:
        """The labels to train on, 0..C-1: the given ones, but for those that were fixed."""
        return self.data.labels if self.fixed is None else self.fixed

    @property
    def changed(self) -> NDArray[np.bool_]:
        """True where a label was fixed."""
        return np.asarray(self.labels != self.data.labels)

    @property
    def as_given(self) -> bool:
        """Whether every row stays with the label that it came with."""
        return self.kept.size == len(self.data) and self.fixed is None

    @property
    def limit(self) -> ContaminationLimit | None:
        """The limit to state, the widest of all kinds of canaries; None where it is withdrawn."""
        return widest(self.limits) if self.limit_says == "something" else None

    @property
    def limit_says(self) -> Literal["something", "nothing", "not to be trusted"]:
        """Whether the limit is of use, and whether the data contradict its condition.

        Of no use: above the limit on all of the data, or below the share of kept labels that
        another class is likelier than, for hard ones cannot be told from wrong ones. Not to be
        trusted: more is wrong at least than the limit on all of the data allows, or a check fails.
        """
        most = max((c.share for c in self.corruption), default=1.0)
        if not self.limits:
            return "nothing"
        limit = widest(self.limits)
        if limit.vacuous or limit.share >= most:
            return "nothing"
        hides = self.judgement is not None and self.judgement.hides
        rate = self.noise_rate
        if hides or (rate is not None and max(rate.low, rate.surest) > most):
            return "not to be trusted"
        return "nothing" if limit.share < self.contradicted else "something"

    @property
    def subset(self) -> Subset:
        """The kept rows as what every trainer takes."""
        given: dict[str, Any] = {} if self.keep is None else {"fraction": self.keep}
        return Subset(self.kept, self.rule, given, len(self.data))

    def classes(self) -> dict[str, tuple[int, int]]:
        """Of each class, how many there are and how many are kept."""
        size = len(self.data.classes)
        before = np.bincount(self.data.labels, minlength=size)
        after = np.bincount(self.data.labels[self.kept], minlength=size)
        return {
            name: (int(b), int(a))
            for name, b, a in zip(self.data.names, before, after, strict=True)
        }

    def weigh(
        self,
        score: str = "rank_variance",
        *,
        smoothing: float = 0.1,
        exponent: float = 1.0,
        of: Literal["kept", "all"] = "kept",
    ) -> Weighting:
        """Sampling probabilities and weights of the kept, or of all but canaries, by a score."""
        check_weighting(score, smoothing=smoothing, exponent=exponent)
        if self.ensemble is None:
            raise InputError("no proxy trained on so little data, so that nothing can be weighted")
        at = self.kept if of == "kept" else np.flatnonzero(~self.ensemble.planted)
        values = SCORES[score](self.ensemble.dynamics)[at]
        plan = importance(values, smoothing=smoothing, weight_exponent=exponent)
        return Weighting(score, plan, at, len(self.data))

    def at(self, keep: float) -> Choice:
        """What the same rule would keep of another share, and the limits on that."""
        if self.ensemble is None:
            raise InputError("no proxy trained on so little data, so that there is no other share")
        rule = self.used or "rank_variance"
        return choose_rows(self.ensemble, self.judgement, keep=keep, rule=rule)

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain values, ready for JSON; what every command prints as JSON."""
        rate = self.noise_rate
        hides = self.judgement is not None and self.judgement.hides
        untrue = hides or self.limit_says == "not to be trusted"
        return {
            "examples": len(self.data),
            "kept": int(self.kept.size),
            "keep": self.keep,
            "rule": self.rule,
            "short": self.short,
            "trusted": int(self.data.trusted.sum()),
            "suspects": 0 if self.suspects is None else len(self.suspects),
            "dropped": len(self.data) - int(self.kept.size),
            "fixed": int(self.changed.sum()),
            "limits": [] if self.limit is None else [limit.to_dict() for limit in self.limits],
            "limit_says": self.limit_says,
            "judgement": None if self.judgement is None else self.judgement.to_dict(),
            "corruption": [] if untrue else [limit.to_dict() for limit in self.corruption],
            "harm": None if self.harm is None else self.harm.to_dict(),
            "noise_rate": None if rate is None else [rate.low, rate.high],
            "likely": None if rate is None else rate.likely,
            "classes": {name: list(counts) for name, counts in self.classes().items()},
            "unlabelled": 0 if self.data.unlabelled is None else len(self.data.unlabelled),
            "notes": list(self.notes),
        }

    def unlabelled(self) -> dict[str, Any]:
        """The rows that have no label: their ids, and for each a label to consider, "" if none.

        A linear model and one with a hidden layer, trained on what is kept, must agree on it.
        """
        aside = self.data.unlabelled
        ids = [] if aside is None else aside.ids.tolist()
        names = (*self.data.names, "")  # the last is where nothing is suggested
        suggested = labels_to_consider(self).tolist()
        return {"id": ids, "suggested": [names[label] for label in suggested]}

    def write(
        self,
        folder: str | Path,
        *,
        form: str | None = None,
        report: bool = True,
        scores: bool = False,
        columns: Sequence[str] = (),
        force: bool = False,
    ) -> list[Path]:
        """Write what the command of the same name writes, to the byte, and return the paths.

        Args:
            folder: Made where it is not there.
            form: "data" (in its own format), "ids" or "column"; for weights "csv" or "parquet".
            report: Write report.html.
            scores: Write scores.parquet and recipe.json too.
            columns: Of the data, to show in issues.csv; ["all"] for every one.
            force: Replace what dris wrote there before; nothing else is ever replaced.
        """
        outputs = import_module("dris.report_page.outputs")  # it draws the page, a layer above
        how = {"form": form, "report": report, "scores": scores, "columns": columns}
        paths: list[Path] = outputs.write_outputs(self, folder, force=force, **how)
        return paths

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A row per example: id, given label, the suggested one, suspicion, suspect and kept."""
        given = self.data.written().astype(object)
        suspect, suggested = np.zeros(len(given), dtype=bool), given.copy()
        if self.suspects is not None:
            at = self.suspects.positions
            suspect[at] = True
            suggested[at] = [one.suggested for one in self.suspects]
        columns = {
            "id": self.data.ids,
            "given": given,
            "suggested": suggested,
            "suspicion": self.suspicion,
            "suspect": suspect,
            "kept": self.mask,
        }
        return frame_of(columns, kind)

    def recipe(self) -> dict[str, Any]:
        """Everything needed to do it again, as values that JSON can hold."""
        made: Mapping[str, Any] = {} if self.ensemble is None else self.ensemble.recipe()
        reading = dict(self.data.origin.reading)
        return {**made, "reading": reading, "keep": self.keep, "rule": self.rule}

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"Decision({self.kept.size:,} of {len(self.data):,} kept by {self.rule})"

    def _repr_html_(self) -> str:
        pairs = [(line[:7].strip(), line[7:].strip()) for line in self.lines()]
        first = [] if self.suspects is None else list(islice(self.suspects, 5))
        rows = [(str(one.id), one.given, one.suggested, one.why) for one in first]
        header = ("most suspicious", "given", "suggested", "why") if rows else ()
        return plain_html("Decision", pairs, header=header, rows=rows)

    def lines(self) -> list[str]:
        """The decision in words, a line each: found, kept, change, blind, limit, why, notes."""
        return terminal_lines(self)
