"""The paper's claims, each held against the records: reproduced, contradicted or undecided.

That takes three paired seeds. Two can only agree with a claim or oppose it; with fewer it waits
for seeds. One that no record here could speak to is not testable at this scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from experiments.results.statistics import compare, mean_std

Outcome = Literal[
    "reproduced",
    "contradicted",
    "undecided",
    "two seeds agree",
    "two seeds oppose",
    "waiting for seeds",
    "not testable at this scale",
]
Whose = Literal["the paper's", "another reading", "ours"]
BySeed = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Claim:
    """What the paper says, or what we say, what became of it here, and the numbers.

    `repeats` names the experiment that counts the same evidence already; `part` is the group that
    an index counts it in, where it splits an experiment's claims.

    >>> Claim("ours: a > b", "undecided", "p = 0.2").whose
    'ours'
    """

    text: str
    outcome: Outcome
    evidence: str
    repeats: str = ""
    part: str = ""

    @property
    def whose(self) -> Whose:
        """Whose words: the paper's, or those in the text's first word."""
        for prefix, owner in _OWNERS.items():
            if self.text.startswith(prefix):
                return owner
        return "the paper's"

    def __str__(self) -> str:
        return f"{self.outcome}: {self.text} ({self.evidence})"


_OWNERS: dict[str, Whose] = {"ours: ": "ours", "another reading": "another reading"}


def above(text: str, larger: BySeed, smaller: BySeed, *, unit: str = "points") -> Claim:
    """The claim that one number exceeds another: a paired one-sided t test over seeds at 0.05.

    "points" are differences of shares in per cent; anything else is printed as it is.

    >>> above("a > b", {0: 0.9, 1: 0.8, 2: 0.9}, {0: 0.5, 1: 0.5, 2: 0.6}).outcome
    'reproduced'
    """
    seeds = sorted(set(larger) & set(smaller))
    if len(seeds) < 2:
        return _waiting(text, len(seeds))
    ours, theirs = [larger[s] for s in seeds], [smaller[s] for s in seeds]
    result = compare(ours, theirs)
    holds: tuple[bool, bool] = (result.outcome == "above", result.outcome == "below")
    if len(seeds) == 2:
        gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
        holds = (min(gaps) > 0, max(gaps) < 0)
    by = (
        f"{100 * result.difference:+.2f} points"
        if unit == "points"
        else f"{result.difference:+.4g}"
    )
    shown = f"{_told(ours, unit)} against {_told(theirs, unit)}, {by}"
    if len(seeds) > 2:
        shown += ", no spread" if result.p is None else f", one-sided p = {result.p:.2g}"
    return Claim(text, _outcome(len(seeds), *holds), f"{shown}, n = {len(seeds)}")


def within(text: str, ours: BySeed, theirs: BySeed, margin: float) -> Claim:
    """The claim that two shares differ by no more than `margin`: two one-sided tests at 0.05.

    >>> within("a ≈ b", {0: 0.90, 1: 0.91, 2: 0.90}, {0: 0.90, 1: 0.90, 2: 0.91}, 0.05).outcome
    'reproduced'
    """
    seeds = sorted(set(ours) & set(theirs))
    if len(seeds) < 2:
        return _waiting(text, len(seeds))
    gaps = [ours[s] - theirs[s] for s in seeds]
    flat = [0.0] * len(gaps)
    low = compare([gap + margin for gap in gaps], flat).outcome
    high = compare([gap - margin for gap in gaps], flat).outcome
    inside, outside = low == "above" and high == "below", low == "below" or high == "above"
    if len(seeds) == 2:
        inside = max(map(abs, gaps)) < margin
        outside = min(gaps) > margin or max(gaps) < -margin
    mean, std = mean_std(gaps)
    told = f"difference {100 * mean:+.2f} ± {100 * std:.2f} points, n = {len(gaps)}"
    return Claim(text, _outcome(len(seeds), inside, outside), told)


def _outcome(seeds: int, holds: bool, fails: bool) -> Outcome:
    """Two seeds agree or oppose; three and more decide."""
    if not holds and not fails:
        return "undecided"
    if seeds == 2:
        return "two seeds agree" if holds else "two seeds oppose"
    return "reproduced" if holds else "contradicted"


def together(text: str, parts: Sequence[Claim]) -> Claim:
    """A claim made of several: reproduced when all of them are, contradicted when any is.

    >>> low, high = {0: 0.1, 1: 0.2, 2: 0.1}, {0: 0.5, 1: 0.6, 2: 0.6}
    >>> together("both", [above("a", high, low), above("b", low, high)]).outcome
    'contradicted'
    """
    outcomes: list[Outcome] = [part.outcome for part in parts]
    rest: tuple[Outcome, ...] = (
        "contradicted",
        "two seeds oppose",
        "not testable at this scale",
        "waiting for seeds",
        "undecided",
        "two seeds agree",
    )
    outcome: Outcome = next((one for one in rest if one in outcomes), "reproduced")
    return Claim(text, outcome, "; ".join(f"{p.text}: {p.outcome}, {p.evidence}" for p in parts))


def falling(text: str, curve: Mapping[float, BySeed]) -> Claim:
    """The claim that a share falls at every step of a curve: each step's paired test at 0.05.

    >>> falling("down", {0.1: {0: 0.9, 1: 0.8}, 0.2: {0: 0.5, 1: 0.4}}).outcome
    'two seeds agree'
    """
    at = sorted(curve)
    steps = [above("", curve[a], curve[b]) for a, b in pairwise(at)]
    means = ", ".join(
        f"{100 * mean_std(list(curve[x].values()))[0]:.1f} % at {x:g}" for x in at if curve[x]
    )
    told = "each step down: " + ", ".join(step.outcome for step in steps)
    return replace(together(text, steps), evidence=f"{means}; {told}")


def untestable(text: str, why: str) -> Claim:
    """A claim that nothing here can speak to."""
    return Claim(text, "not testable at this scale", why)


def _waiting(text: str, paired: int) -> Claim:
    return Claim(text, "waiting for seeds", f"{paired} of at least 2 paired seeds")


def _told(values: list[float], unit: str) -> str:
    mean, std = mean_std(values)
    if unit == "points":
        return f"{100 * mean:.1f} ± {100 * std:.1f} %"
    return f"{mean:.4g} ± {std:.3g}"
