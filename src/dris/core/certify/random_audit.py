"""A person checks a random sample; the limit on all labels that follows needs no assumption."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.chances import first_true, most_marked
from dris.core.errors import InputError
from dris.core.subset import Subset
from dris.core.validate import check_count, exact, part_of


@dataclass(frozen=True, slots=True)
class AuditLimit:
    """At most `limit` of `size` labels are wrong, with probability at least 1 - δ."""

    limit: int  # the limit on the number of wrong labels, those found by the check included
    size: int  # how many examples the subset has
    checked: int  # how many of them, drawn at random, were checked
    wrong: int  # how many of these were wrong (or could not be said to be right)
    delta: float  # with this probability at most the limit fails

    @property
    def share(self) -> float:
        """The limit as a share of the subset."""
        return self.limit / self.size

    @property
    def share_after(self) -> float:
        """The same after the wrong ones have been dropped; 0 if nothing is left."""
        return (self.limit - self.wrong) / max(1, self.size - self.wrong)

    def to_dict(self) -> dict[str, Any]:
        """The limit as plain values, ready for JSON."""
        return {**asdict(self), "share": self.share, "share_after": self.share_after}

    def __str__(self) -> str:
        return (
            f"at most {self.share:.2%} of {self.size:,} labels are wrong, with probability "
            f"{1 - self.delta:g}: {self.wrong:,} of {self.checked:,} checked were"
        )


def draw_audit(subset: Subset, n: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw n positions of the subset uniformly; to choose n by the answers voids the limit."""
    count = check_count(n, "n", at_least=1)
    if count > len(subset):
        raise InputError(f"n must be at most the {len(subset)} examples of the subset, got {n}")
    return np.asarray(rng.choice(subset.indices, count, replace=False))


def audit_limit(*, size: int, checked: int, wrong: int, delta: float = 0.05) -> AuditLimit:
    """Limit the wrong labels of a subset, from a random sample of it that was checked.

    Exact, for a draw without replacement. Count what cannot be decided as wrong.

    >>> print(audit_limit(size=12_500, checked=60, wrong=0))
    at most 4.86% of 12,500 labels are wrong, with probability 0.95: 0 of 60 checked were
    """
    level = _level(delta)
    limit = most_marked(wrong, total=size, drawn=checked, delta=level)
    return AuditLimit(limit, size, checked, wrong, level)


def audit_size(
    *, size: int, share: float, delta: float = 0.05, expected_wrong: int = 0
) -> int | None:
    """How many to check for a limit of at most `share`; None if checking all is not enough."""
    wrong = check_count(expected_wrong, "expected_wrong", at_least=0)
    wished, level = part_of(share, size, "share"), _level(delta)
    if wrong > wished:
        return None

    def enough(drawn: int) -> bool:
        return most_marked(wrong, total=size, drawn=drawn, delta=level) <= wished

    return first_true(max(wrong, 1) - 1, size, enough)  # checking all is always enough


def _level(delta: float) -> float:
    level = exact(delta, "delta")
    if not 0 < level < 1:
        raise InputError(f"delta must be in (0, 1), got {delta}")
    return float(level)
