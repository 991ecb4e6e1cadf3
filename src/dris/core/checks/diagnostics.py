"""One check's answer, and how well a score tells two groups apart."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dris.core.scores.ranks import doubled_ranks
from dris.core.validate import check_mask, check_score

Outcome = Literal["holds", "fails", "cannot tell"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: what was asked, the answer of three, the number behind it and why."""

    name: str
    outcome: Outcome
    number: float
    threshold: float
    reason: str

    def __str__(self) -> str:
        known = not math.isnan(self.number)
        many = ",.0f" if abs(self.number) >= 1000 else ".3g"
        numbers = f" ({self.number:{many}}, threshold {self.threshold:.3g})" if known else ""
        return f"{self.name}: {self.outcome}{numbers}: {self.reason}"


def auroc(score: ArrayLike, marked: ArrayLike) -> float:
    """The chance that a marked example has a larger score than an unmarked one, ties half."""
    s = check_score(score)
    mark = check_mask(marked, len(s), "marked")
    inside = int(mark.sum())
    doubled = int(doubled_ranks(s)[mark].sum(dtype=np.uint64))
    return (doubled / 2 - inside * (inside + 1) / 2) / (inside * (len(s) - inside))
