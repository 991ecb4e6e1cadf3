"""Every sentence about a decision, worded once: for the terminal, the page and JSON."""

import shlex
from typing import TYPE_CHECKING

from dris.core.errors import command_words
from dris.core.noise.noise_rate import NoiseRate

if TYPE_CHECKING:
    from dris.pipeline.decision import Decision
    from dris.pipeline.harm import Harm

EVERYTHING = "everything"  # the rule's name where nothing is dropped
MOSTLY = 4  # a pair of labels is called "mostly" from this part of the suspects on: a quarter
BLIND = (
    "errors that follow the features, such as one kind of row that is always labelled wrong, look "
    "right to every model; a random audit sees them (dris audit draw)"
)
CONDITION = "true quality follows unless the wrong labels can be predicted from the features"
ALL_KEPT = ", so everything is kept"
TOO_GOOD = "too good to trust, wrong labels are not like canaries"
_PLANTED = {
    "uniform": "random examples, each with a random other label, made wrong to test the proxies",
    "hard": "made wrong among the hardest examples, to test the proxies",
    "confusable": "with the label that each is most easily taken for, to test the proxies",
    "matrix": "made wrong by the matrix that was given, to test the proxies",
}
_HELD_OUT = {
    "helps": "agreed better with labels they had not seen",
    "harms": "agreed worse with labels they had not seen",
    "cannot tell": "agreed about as well with labels they had not seen",
}


def terminal_lines(decision: "Decision") -> list[str]:
    """What was found, what was done, what that changes, and what nobody can know from here.

    Then, where there is more to say: the limit and its condition, the reason for the rule, notes.
    """
    lines = [f"found  {_found(decision)}", f"kept   {_kept(decision)}"]
    if decision.short:
        lines.append(f"short  {decision.short:,} fewer than asked for pass the gate")
    if decision.harm is not None:
        lines.append(f"change {decision.harm.says}: {held_out_change(decision.harm)}")
    elif decision.as_given:
        lines.append("change nothing: every row stays as it is")
    if decision.suspects is not None:
        lines.append(f"blind  {BLIND}")
    limit = decision.limit
    if limit is not None:
        lines.append(
            f"limit  at most {limit.share:.2%} of them are wrong ({limit.wrong:,} of "
            f"{limit.left:,}) with probability {1 - limit.delta:g}, if {limit.conditions[0]}"
        )
    elif decision.limits:
        why = f": {TOO_GOOD}" if decision.limit_says == "not to be trusted" else ""
        lines.append(f"limit  nothing of use is certified about what is kept{why}")
    if decision.judgement is not None:
        lines.append(f"why    {decision.judgement.looks}: {decision.judgement.reason}")
    return [*lines, *(f"note   {note}" for note in decision.notes)]


def _found(decision: "Decision") -> str:
    suspects = decision.suspects
    text = f"{0 if suspects is None else len(suspects):,} of {len(decision):,} labels look wrong"
    most = None if suspects is None else suspects.commonest()
    if most is not None:
        text += f", most often {most[0]} that should be {most[1]} ({most[2]:,})"
    return text if decision.noise_rate is None else f"{text}; {noise_range(decision.noise_rate)}"


def _kept(decision: "Decision") -> str:
    text = f"{decision.kept.size:,} of {len(decision):,} by {decision.rule}"
    trusted = int(decision.data.trusted.sum())
    if trusted:
        text += f", all {trusted:,} trusted among them"
    if decision.fixed is not None:
        text += f", {int(decision.changed.sum()):,} of them with the suggested label"
    if decision.keep is not None and decision.suspects is not None:
        text += f"; dris clean would drop {len(decision.suspects):,} at most"
    return text


def noise_range(rate: NoiseRate) -> str:
    """How many labels are wrong, and what each end of the range rests on."""
    about = "" if rate.likely is None else f", about {rate.likely:.1%} if errors fall at random"
    return (
        f"between {rate.low:.1%} and {rate.high:.1%} are{about} (the first is the least that "
        "fits random errors, the second what proxies contradict, too many where classes "
        "overlap; both are too few where errors follow the features)"
    )


def held_out_change(harm: "Harm") -> str:
    """What following the decision changes on held-out rows."""
    points = f"{harm.agreement} points"
    if harm.as_decided is not None:
        points = (
            f"{harm.as_decided} points, which flatters, for the imported models know those labels; "
            f"what our own proxies would drop without knowing them changes it by {harm.agreement}"
        )
    text = (
        f"on held-out rows it changes agreement with the given labels by {points}, beyond chance "
        f"by {harm.beyond_chance}; {CONDITION}"
    )
    if harm.disagree:
        text += "; the two disagree: the wrong labels favour a class, or one class is rare"
    if harm.against_random is not None:
        text += f"; against a random subset of that size {harm.against_random}"
    return text


def sentences(decision: "Decision", name: str) -> dict[str, str]:
    """What was found, what to do, what that changes and what is left, of data called `name`."""
    return {
        "headline": headline(decision),
        "advice": advice(decision, name),
        "change": change(decision),
        "promise": promise(decision),
    }


def headline(decision: "Decision") -> str:
    """What was found, in one sentence for a person who reads nothing else."""
    n = len(decision)
    count = 0 if decision.suspects is None else len(decision.suspects)
    if not count:
        return f"None of {n:,} labels looks wrong."
    text = f"About {count:,} of {n:,} labels look wrong"
    most = None if decision.suspects is None else decision.suspects.commonest()
    if most is None:
        return f"{text}."
    often = "mostly" if most[2] * MOSTLY >= count else "most often"
    return f"{text}, {often} {most[1]} labelled {most[0]}."


def advice(decision: "Decision", name: str = "DATA") -> str:
    """What to do about it, in one sentence with the command to type."""
    kept, n = decision.kept.size, len(decision)
    words = shlex.join(["dris", "review", name, *command_words(decision.data.origin.reading)])
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


def change(decision: "Decision") -> str:
    """What following it would change, with the numbers of the harm check."""
    harm = decision.harm
    if harm is None and decision.as_given:
        return "Nothing changes: every row stays as it is."
    if harm is None:
        return "Whether that helps was not measured here; compare a model trained on either."
    what = "without them" if decision.keep is None else "on this subset"
    points = f"{harm.agreement} points of 100"
    if harm.as_decided is not None:
        points = (
            f"{harm.as_decided} points of 100, which flatters, for the imported models know those "
            f"labels; by what our own proxies would keep {harm.agreement}"
        )
    worst = min(harm.classes, key=lambda name: harm.classes[name], default=None)
    class_by = "" if worst is None else f", worst for {worst} with {harm.classes[worst]:+.1f}"
    return (
        f"Small models trained {what} {_HELD_OUT[harm.says]}: {points}, beyond chance "
        f"{harm.beyond_chance}{class_by}; {CONDITION}."
    )


def promise(decision: "Decision") -> str:
    """How much may still be wrong, with the condition in the same sentence, or why no limit is."""
    rate, first = decision.noise_rate, ""
    if rate is not None:
        about = "" if rate.likely is None else f", about {rate.likely:.1%} if errors fall at random"
        first = (
            f"Of all labels between {rate.low:.1%} and {rate.high:.1%} are wrong{about}: at "
            "least what fits random errors, at most what proxies contradict, too many where "
            "classes overlap; both are too few where errors follow the features. "
        )
    return f"{first}{_limit(decision)} {BLIND[0].upper()}{BLIND[1:]}."


def _limit(decision: "Decision") -> str:
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
