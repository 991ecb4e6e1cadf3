"""Why we think that a claim of the paper came out the other way: results/causes.md, read."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from experiments.results.claims import Claim

CAUSES = ("scale", "set-up not given", "paper wrong", "open")
UNSEEN = "not looked into yet"
_PAGE = Path(__file__).parents[2] / "results" / "causes.md"


@dataclass(frozen=True, slots=True)
class Reason:
    """A cause for the claims of an experiment whose text matches a pattern, and what supports it.

    `scale` is the one whose records it is about, or "any".
    """

    experiment: str
    scale: str
    pattern: str
    cause: str
    why: str


@cache
def reasons() -> tuple[Reason, ...]:
    """The rows of the page's table, in their order."""
    rows = [line for line in _PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows[1:]]
    return tuple(Reason(e, scale, like.strip("`"), c, why) for e, scale, like, c, why in cells)


def reason_of(experiment: str, claim: Claim, scale: str) -> tuple[str, str]:
    """Cause and support of the first row that matches, or that nobody has looked.

    >>> claim = Claim("cifar100, clean: a above b", "contradicted", "")
    >>> reason_of("pruning", claim, "cpu")[0], reason_of("pruning", claim, "paper")[0]
    ('scale', 'open')
    """
    for reason in reasons():
        about = reason.scale in ("any", scale) and reason.experiment == experiment
        if about and fnmatchcase(claim.text, reason.pattern):
            return reason.cause, reason.why
    return "open", UNSEEN
