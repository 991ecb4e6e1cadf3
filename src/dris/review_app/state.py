"""What was said, by whom, and what follows from it: answers, agreement, an exact limit."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from dris.core.certify.random_audit import audit_limit
from dris.core.checks.verdicts import NO_LABEL, VERDICTS
from dris.core.errors import InputError
from dris.review_app.worklist import Worklist

DELTA = 0.05
DISPUTED = "disputed"


class Answer(NamedTuple):
    """A verdict on a given label, the label it should have, and whether a person saw it."""

    verdict: str
    label: int = NO_LABEL
    seen: bool = True


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two people answered what both of them saw."""

    first: str
    second: str
    both: int
    same: int
    kappa: float | None

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "first": self.first,
            "second": self.second,
            "both": self.both,
            "same": self.same,
            "kappa": self.kappa,
        }


@dataclass(frozen=True, slots=True)
class RestLimit:
    """How many of the labels that nobody has settled may be wrong, at most.

    Attributes:
        unsettled: Labels that nobody has settled: suspects still open, and all that never looked
            wrong.
        most: So many of them may be wrong, with probability 1 - δ; cards of the sample that are
            still open count as wrong.
        hoped: The same if the open cards of the sample turn out right.
        checked: Cards of the sample that were answered.
        sample: Cards of the sample in all.
        wrong: Cards of the sample that were not found right.
    """

    unsettled: int
    most: int
    hoped: int
    checked: int
    sample: int
    wrong: int

    def to_dict(self) -> dict[str, Any]:
        """As plain values, shares of the unsettled among them."""
        size = max(self.unsettled, 1)
        return {
            "unsettled": self.unsettled,
            "most": self.most,
            "share": self.most / size,
            "hoped": self.hoped,
            "hopedShare": self.hoped / size,
            "checked": self.checked,
            "sample": self.sample,
            "wrong": self.wrong,
            "confidence": 1 - DELTA,
        }


@dataclass(slots=True)
class Standing:
    """The answers so far, from the acts in a journal.

    >>> standing = Standing()
    >>> standing.act({"act": "tick", "who": "ana", "at": 7, "verdict": "wrong", "label": 2})
    >>> standing.settled(7)
    Answer(verdict='wrong', label=2, seen=True)
    >>> standing.act({"act": "undo", "who": "ana"})
    >>> standing.settled(7) is None
    True
    """

    said: dict[int, dict[str, Answer]] = field(default_factory=dict)
    _past: dict[str, list[list[tuple[int, Answer | None]]]] = field(default_factory=dict)

    @classmethod
    def of(cls, acts: Iterable[Mapping[str, Any]]) -> "Standing":
        """After all of these acts; one that makes no sense is an error."""
        standing = cls()
        for act in acts:
            standing.act(act)
        return standing

    def act(self, act: Mapping[str, Any]) -> None:
        """Take one more act into account."""
        try:
            kind, who = act["act"], str(act["who"])
            if kind == "tick":
                answer = Answer(str(act["verdict"]), int(act.get("label", NO_LABEL)))
                if answer.verdict not in VERDICTS:
                    raise ValueError(answer.verdict)
                self._say(who, {int(act["at"]): answer})
            elif kind == "cell":
                answer = Answer("wrong", int(act["label"]), seen=False)
                self._say(who, {int(at): answer for at in act["at"]})
            elif kind == "undo":
                self._undo(who)
            else:
                raise ValueError(kind)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the file of ticks holds an act that is none ({error!r})") from None

    def _say(self, who: str, answers: Mapping[int, Answer]) -> None:
        before: list[tuple[int, Answer | None]] = []
        for at, answer in answers.items():
            own = self.said.setdefault(at, {})
            before.append((at, own.get(who)))
            own[who] = answer
        self._past.setdefault(who, []).append(before)

    def _undo(self, who: str) -> None:
        for at, answer in self._past[who].pop() if self._past.get(who) else []:
            if answer is None:
                del self.said[at][who]
            else:
                self.said[at][who] = answer

    def last(self, who: str) -> list[int]:
        """The positions that this person's next undo gives back."""
        acts = self._past.get(who)
        return [at for at, _ in acts[-1]] if acts else []

    def answers(self, at: int) -> list[Answer]:
        """What people said of an example: those who saw it, or else who accepted it unseen."""
        every = list(self.said.get(at, {}).values())
        return [answer for answer in every if answer.seen] or every[:1]

    def settled(self, at: int) -> Answer | None:
        """The answer of all who saw it, right or wrong; None where there is none."""
        found = set(self.answers(at))
        one = found.pop() if len(found) == 1 else None
        return None if one is None or one.verdict == "unsure" else one

    def verdict(self, at: int) -> str:
        """What became of an example: a verdict, "disputed", or "" while it is open."""
        found = set(self.answers(at))
        if len(found) > 1:
            return DISPUTED
        return found.pop().verdict if found else ""

    def verdicts(self) -> Counter[str]:
        """How many examples came to each verdict, those that are open aside."""
        return Counter(verdict for at in self.said if (verdict := self.verdict(at)))

    def by(self, who: str, at: int) -> Answer | None:
        """What one person said."""
        return self.said.get(at, {}).get(who)

    def people(self) -> dict[str, int]:
        """How many labels each person saw and answered."""
        found = Counter(
            who for own in self.said.values() for who, answer in own.items() if answer.seen
        )
        return dict(sorted(found.items()))

    def agreements(self) -> list[Agreement]:
        """How each pair of people answered what both saw; kappa is None where it has no meaning."""
        found = []
        for first, second in combinations(self.people(), 2):
            pairs = [
                (own[first][:2], own[second][:2])
                for own in self.said.values()
                if first in own and second in own and own[first].seen and own[second].seen
            ]
            same = sum(a == b for a, b in pairs)
            found.append(Agreement(first, second, len(pairs), same, _kappa(pairs)))
        return found

    def rest_limit(self, worklist: Worklist) -> RestLimit:
        """The exact limit on the labels that nobody has settled, whenever people stop."""
        sample = worklist.sample.tolist()
        drawn = set(sample)
        settled = [self.settled(at) for at in sample]
        right = sum(one is not None and one.verdict == "right" for one in settled)
        found = sum(one is not None and one.verdict == "wrong" for one in settled)
        answered = sum(bool(self.verdict(at)) for at in sample)
        done = sum(self.settled(at) is not None for at in self.said if at not in drawn)
        open_ = len(worklist) - len(sample) - done
        unsettled = open_ + worklist.rest - right - found
        left = len(sample) - answered

        def most(wrong: int) -> int:
            if not worklist.rest:
                return 0
            limit = audit_limit(
                size=worklist.rest, checked=len(sample), wrong=wrong, delta=DELTA
            ).limit
            return limit - found

        now = open_ + most(len(sample) - right)
        hoped = open_ + most(len(sample) - right - left)
        return RestLimit(
            unsettled,
            min(now, unsettled),
            min(hoped, unsettled),
            answered,
            len(sample),
            answered - right,
        )


def _kappa(pairs: list[tuple[Any, Any]]) -> float | None:
    """Cohen's: agreement beyond what two strangers with these habits would have."""
    if not pairs:
        return None
    n = len(pairs)
    first, second = (Counter(side) for side in zip(*pairs, strict=True))
    chance = sum(count * second[answer] for answer, count in first.items()) / n**2
    if np.isclose(chance, 1):
        return None
    return float((sum(a == b for a, b in pairs) / n - chance) / (1 - chance))
