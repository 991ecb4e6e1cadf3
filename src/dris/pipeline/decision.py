"""What to do about each example and why: the noun that every door shows."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.limits import ContaminationLimit, CorruptionLimit, widest
from dris.core.checks.judgement import Judgement
from dris.core.checks.neighbours import Neighbours
from dris.core.dynamics.columns import FrameKind, frame_of
from dris.core.errors import InputError, parameter, suggest_name
from dris.core.noise.posterior import NoiseRate
from dris.core.sanitize import encodable, plain_html
from dris.core.scores.formulas import SCORES
from dris.core.select.importance import Importance, importance
from dris.core.select.rules import Rule
from dris.core.subset import Subset
from dris.core.validate import read_only
from dris.data.labelled import LabelledData
from dris.pipeline.choice import Choice, choose_rows
from dris.pipeline.ensemble import Ensemble
from dris.pipeline.harm import Harm
from dris.pipeline.lists import (
    Annotators,
    Suspects,
    duplicate_groups,
    judge_annotators,
    labels_to_consider,
)
from dris.pipeline.scoring import NewRows, Scorer
from dris.pipeline.wording import facts, notes_to_print, terminal_lines

MAX_USEFUL_LIMIT = 0.25  # a limit from here on helps nobody
P_WRONG = "p_wrong"  # what weights go by unless a score is named
SMOOTHING = 0.1  # ξ of the paper


@dataclass(frozen=True, slots=True, eq=False)
class Weighting:
    """How often to draw each example and how much it counts: by P(wrong) all alike, or by a score.

    `probabilities` and `weights` are of every example, 0 for those that are never drawn.
    """

    score: str  # what it goes by
    probabilities: NDArray[np.float64]
    weights: NDArray[np.float64]
    importance: Importance | None = None  # of a score: the plan over those that can be drawn

    @property
    def positions(self) -> NDArray[np.int64]:
        """The examples that can be drawn."""
        return np.flatnonzero(self.probabilities)

    @property
    def effective_size(self) -> float:
        """How many examples that count alike a full pass is worth."""
        if self.importance is not None:
            return self.importance.effective_size
        return float(self.weights.sum() ** 2 / max((self.weights**2).sum(), 1e-300))


def check_weighting(score: str, *, smoothing: float, exponent: float) -> None:
    """Refuse, before anything trains, what no weighting can be made of."""
    if score == P_WRONG:
        if (smoothing, exponent) != (SMOOTHING, 1.0):
            raise InputError(
                f"{parameter('smoothing')} and {parameter('exponent')} are for weights by a score; "
                "leave them out, or choose a score, such as rank_variance"
            )
        return
    if score not in SCORES:
        known = (P_WRONG, *SCORES)
        near = suggest_name(score, known)
        raise InputError(f"weights need a score, one of {', '.join(known)}, got {score!r}{near}")
    importance([1.0, 2.0], smoothing=smoothing, weight_exponent=exponent)


@dataclass(frozen=True, eq=False)
class Decision:
    """What to train on, which labels to look at, and how much may still be wrong.

    Attributes:
        data: What was decided about.
        kept: Positions of the examples to train on, sorted.
        p_wrong: P(wrong) of each given label; without folds only their order means something.
        suspects: The labels to look at, the surest first; dropped or not.
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
        sample_weight: How much each example should count in training: about 1 for a label that is
            right, 0 for one that is wrong.
        hard: Positions of labels that models contradict and that are no suspects, the likeliest
            wrong first: hard, or wrong; nothing is claimed of them.
        natural: Errors look like people's, not random: the noise rate is a lower bound.

    >>> import dris
    >>> few = LabelledData.of(np.eye(2), [0, 1], classes=("cat", "dog"))
    >>> print(dris.clean(few))  # doctest: +ELLIPSIS
    data: 2 rows, label "labels" (cat 1, dog 1)
    Nothing was dropped: 2 examples cannot show wrong labels (two classes and 50 ...)
    """

    data: LabelledData
    kept: NDArray[np.int64]
    p_wrong: NDArray[np.float64]
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
    sample_weight: NDArray[np.float64] | None = None
    hard: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    natural: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", read_only(self.kept, np.int64))
        object.__setattr__(self, "p_wrong", read_only(self.p_wrong, np.float64))
        weight = np.ones(len(self.data)) if self.sample_weight is None else self.sample_weight
        object.__setattr__(self, "sample_weight", read_only(weight, np.float64))

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

        Of no use: above a quarter, above the limit on all of the data, or below the share of kept
        labels that another class is likelier than, for hard ones cannot be told from wrong ones.
        Not to be trusted: more is wrong at least than the limit on all of the data allows, or a
        check fails.
        """
        most = max((c.share for c in self.corruption), default=1.0)
        if not self.limits:
            return "nothing"
        limit = widest(self.limits)
        if limit.vacuous or limit.share >= min(most, MAX_USEFUL_LIMIT):
            return "nothing"
        hides = self.judgement is not None and self.judgement.hides
        rate = self.noise_rate
        if hides or (rate is not None and rate.low > most):
            return "not to be trusted"
        return "nothing" if limit.share < self.contradicted else "something"

    @cached_property
    def neighbours(self) -> Neighbours | None:
        """Distances between rows, computed when first asked for; None where nothing trained."""
        return None if self.ensemble is None else self.ensemble.neighbours

    @property
    def near_duplicates(self) -> list[NDArray[np.int64]]:
        """Groups of rows that are nearly the same: those with different labels first."""
        found = self.neighbours
        return [] if found is None else duplicate_groups(found, self.data.labels)

    @property
    def outliers(self) -> NDArray[np.int64]:
        """Positions of rows far from all others, the farthest first."""
        found = self.neighbours
        return np.zeros(0, dtype=np.int64) if found is None else found.outliers

    @property
    def annotators(self) -> Annotators | None:
        """The people who labelled, and rows that need another opinion; None for one person."""
        return judge_annotators(self)

    @property
    def subset(self) -> Subset:
        """The kept rows as what every trainer takes."""
        given: dict[str, Any] = {} if self.keep is None else {"fraction": self.keep}
        return Subset(self.kept, self.rule, given, len(self.data))

    def classes(self) -> dict[str, tuple[int, int]]:
        """Of each class, how many there are and how many are kept."""
        labels, size = self.data.labels, len(self.data.classes)
        counts = (np.bincount(y, minlength=size).tolist() for y in (labels, labels[self.kept]))
        return dict(zip(self.data.names, zip(*counts, strict=True), strict=True))

    def weigh(
        self,
        score: str = "rank_variance",
        *,
        smoothing: float = SMOOTHING,
        exponent: float = 1.0,
        of: Literal["kept", "all"] = "kept",
    ) -> Weighting:
        """Sampling probabilities and weights of the kept or of all, by P(wrong) or by a score.

        A score leaves canaries out of all: it is of labels that were flipped.
        """
        check_weighting(score, smoothing=smoothing, exponent=exponent)
        ensemble = self._trained("nothing can be weighted")
        n, plan = len(self.data), None
        at = self.kept if of == "kept" else np.arange(n)
        probabilities, weights = np.zeros(n), np.zeros(n)
        if score == P_WRONG:
            probabilities[at], weights[at] = 1 / at.size, np.asarray(self.sample_weight)[at]
        else:
            at = at if of == "kept" else np.flatnonzero(~ensemble.planted)
            values = SCORES[score](ensemble.dynamics)[at]
            plan = importance(values, smoothing=smoothing, weight_exponent=exponent)
            probabilities[at], weights[at] = plan.probabilities, plan.weights
        return Weighting(score, probabilities, weights, plan)

    def at(self, keep: float) -> Choice:
        """What the same rule would keep of another share, and the limits on that."""
        ensemble, rule = self._trained("there is no other share"), self.used or "rank_variance"
        return choose_rows(ensemble, self.judgement, keep=keep, rule=rule)

    def _trained(self, why: str) -> Ensemble:
        if self.ensemble is None:
            raise InputError(f"no proxy trained on so little data, so that {why}")
        return self.ensemble

    def score(self, x: Any, y: Any = None) -> NewRows:
        """P(wrong) and the suggested label of rows that arrived later, for tables of numbers.

        Two small models train at the first call and are kept.

        Args:
            x: An array or a frame with the columns of the data.
            y: Their labels, where they have any.
        """
        return self._scorer.score(x, y)

    @cached_property
    def _scorer(self) -> Scorer:
        return Scorer(self._trained("nothing can be scored"))

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain values: what every command prints as JSON."""
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
            "facts": facts(self),
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
        outputs: Any = import_module("dris.report_page.outputs")  # it draws the page, a layer above
        how = {"form": form, "report": report, "scores": scores, "columns": columns}
        return list(outputs.write_outputs(self, folder, force=force, **how))

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """A row per example: id, given label, the suggested one, P(wrong), suspect and kept."""
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
            "p_wrong": self.p_wrong,
            "suspect": suspect,
            "kept": self.mask,
        }
        return frame_of(columns, kind)

    def to_datalab(self) -> Any:
        """A pandas frame in the columns of `Datalab.get_issues()` of cleanlab, a row per example.

        A lower score is a clearer issue, as there: `label_score` is 1 − P(wrong), the others say
        how near the nearest row is, and how far all are, against the median.
        """
        frame, found = self.to_frame(), self.neighbours
        columns: dict[str, Any] = {
            "is_label_issue": frame["suspect"],
            "label_score": 1 - self.p_wrong,
            "given_label": frame["given"],
            "predicted_label": frame["suggested"],
        }
        if found is not None:
            near, far = found.nearest, found.distance
            columns |= {
                "is_outlier_issue": np.isin(np.arange(len(self)), self.outliers),
                "outlier_score": np.minimum(1, np.median(far) / np.maximum(far, 1e-12)),
                "is_near_duplicate_issue": found.groups >= 0,
                "near_duplicate_score": np.minimum(1, near / max(float(np.median(near)), 1e-12)),
            }
        return frame_of(columns)

    def recipe(self) -> dict[str, Any]:
        """How to do it again, as values that JSON can hold."""
        made: Mapping[str, Any] = {} if self.ensemble is None else self.ensemble.recipe()
        reading = dict(self.data.origin.reading)
        return {**made, "reading": reading, "keep": self.keep, "rule": self.rule}

    def __str__(self) -> str:
        return encodable("\n".join(self.lines()), getattr(sys.stdout, "encoding", None))

    def __repr__(self) -> str:
        return f"Decision({self.kept.size:,} of {len(self.data):,} kept by {self.rule})"

    def _repr_html_(self) -> str:
        pairs = [*facts(self).items(), *(("note", note) for note in notes_to_print(self))]
        first = [] if self.suspects is None else list(islice(self.suspects, 5))
        rows = [(str(one.id), one.given, one.suggested, one.why) for one in first]
        header = ("surest", "given", "suggested", "why") if rows else ()
        return plain_html("Decision", pairs, header=header, rows=rows)

    def lines(self) -> list[str]:
        """The decision in words, a line each, the result first."""
        return terminal_lines(self)
