"""The sentences on top of the page."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dris.core.parameters import command_words
from dris.pipeline.choice import EVERYTHING
from dris.pipeline.decision import BLIND, Decision
from dris.pipeline.harm_fallback import ALL_KEPT

MOSTLY = 4  # a pair of labels is called "mostly" from this part of the suspects on: a quarter


@dataclass(frozen=True, slots=True)
class Said:
    """The decision in words."""

    headline: str
    doing: str
    changing: str
    promise: str


def said(decision: Decision, name: str, asked: Mapping[str, Any] | None) -> Said:
    """The four sentences; `name` is what the data are called, `asked` how they were read."""
    return Said(
        headline(decision), doing(decision, name, asked), changing(decision), promise(decision)
    )


def headline(decision: Decision) -> str:
    """What was found, in one sentence for a person who reads nothing else."""
    n = len(decision)
    count = 0 if decision.suspects is None else len(decision.suspects)
    if not count:
        return f"None of {n:,} labels looks wrong."
    says = f"About {count:,} of {n:,} labels look wrong"
    most = None if decision.suspects is None else decision.suspects.commonest()
    if most is None:
        return f"{says}."
    often = "mostly" if most[2] * MOSTLY >= count else "most often"
    return f"{says}, {often} {most[1]} labelled {most[0]}."


def doing(decision: Decision, name: str = "DATA", asked: Mapping[str, Any] | None = None) -> str:
    """What to do about it, in one sentence; `name` is what the data are called.

    `asked` are the options by which it was read; label and id of the file unless given.
    """
    kept, n = decision.kept.size, len(decision)
    origin = decision.data.origin
    if asked is None and origin.files and origin.format != "images":
        asked = {"label": origin.label, "id": origin.id}
    words = shlex.join(["dris", "review", name, *command_words(asked or {})])
    look = f"look at those that look wrong: {words}"
    if decision.rule == EVERYTHING:
        why = decision.notes[-1] if decision.notes else "nothing else is safer"
        why = why.partition(ALL_KEPT)[0]
        return f"Keep everything for now ({why}), and {look}."
    if kept == n:
        return f"Keep everything, and {look}." if decision.suspects else "Keep everything."
    if decision.keep is None:
        return f"Train on the {kept:,} labels that look right, and {look}."
    return f"Train on the {kept:,} examples chosen of {n:,}, and {look}."


def changing(decision: Decision) -> str:
    """What following it would change, with the numbers of the harm check."""
    harm = decision.harm
    if harm is None and decision.as_given:
        return "Nothing changes: every row stays as it is."
    if harm is None:
        return "Whether that helps was not measured here; compare a model trained on either."
    what = "without them" if decision.keep is None else "on this subset"
    says = {
        "helps": "agreed better with labels they had not seen",
        "harms": "agreed worse with labels they had not seen",
        "cannot tell": "agreed about as well with labels they had not seen",
    }[harm.says]
    points = f"{harm.agreement} points of 100"
    if harm.as_decided is not None:
        points = (
            f"{harm.as_decided} points of 100, which flatters, for the imported models know those "
            f"labels; by what our own proxies would keep {harm.agreement}"
        )
    worst = min(harm.classes, key=lambda name: harm.classes[name], default=None)
    class_by = "" if worst is None else f", worst for {worst} with {harm.classes[worst]:+.1f}"
    return (
        f"Small models trained {what} {says}: {points}, beyond chance {harm.beyond_chance}"
        f"{class_by}; {harm.condition}."
    )


def promise(decision: Decision) -> str:
    """How much may still be wrong, with the condition in the same sentence, or why no limit is."""
    wrong, first = decision.wrong, ""
    if wrong is not None:
        about = (
            "" if wrong.likely is None else f", about {wrong.likely:.1%} if errors fall at random"
        )
        first = (
            f"Of all labels between {wrong.low:.1%} and {wrong.high:.1%} are wrong{about}: at "
            "least what fits random errors, at most what proxies contradict, too many where "
            "classes overlap; both are too few where errors follow the features. "
        )
    return f"{first}{_promise(decision)} {BLIND[0].upper()}{BLIND[1:]}."


def _promise(decision: Decision) -> str:
    limit = decision.limit
    without = "checking the random sample below gives a limit that assumes nothing"
    if not decision.limits:
        return (
            "How much of what is kept is still wrong was not measured; checking the random sample "
            "below gives an exact limit, whatever made the labels wrong."
        )
    if decision.limit_says == "not to be trusted":
        return (
            "No limit on what is left is given: wrong labels here are not like the ones that were "
            f"planted to test the proxies, and a limit would rest on these; {without}."
        )
    if limit is None:
        return f"Nothing of use can be promised about what is kept; {without}."
    return (
        f"At most {limit.share:.1%} of the kept labels are wrong ({limit.wrong:,} of "
        f"{limit.left:,}), with {1 - limit.delta:.0%} confidence, if wrong labels are like the "
        f"planted ones ({_PLANTED.get(limit.kind, limit.conditions[0])}); {without}."
    )


_PLANTED = {
    "uniform": "random examples, each with a random other label, made wrong to test the proxies",
    "hard": "made wrong among the hardest examples, to test the proxies",
    "confusable": "with the label that each is most easily taken for, to test the proxies",
    "matrix": "made wrong by the matrix that was given, to test the proxies",
}
