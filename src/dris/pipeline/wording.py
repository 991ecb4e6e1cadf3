"""The decision in words: each fact once, for the terminal, the page, `print` and JSON."""

import re
import shlex
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import command_words
from dris.core.noise.posterior import percent
from dris.data.files import one_line

if TYPE_CHECKING:
    from dris.pipeline.decision import Decision
    from dris.pipeline.harm import Harm

DEFAULT_OUT = Path("dris-out")
EVERYTHING = "everything"  # the rule's name where nothing is dropped
BLIND = "Not visible to any model: errors that follow a pattern in the columns"
ALL_KEPT = "; nothing was dropped"
MAX_P_SHOWN = 0.99  # no model is surer than that
SHOWN_PAIRS = SHOWN_SUSPECTS = 2
# Why a row is kept or not.
REASONS = ("kept", "suspect", "hard or wrong", "lower score")
LITTLE = 0.5  # a weight below is worth saying
MIN_ROWS_TO_MEASURE = 5  # dropped or changed; what fewer change cannot be told from nothing
MAX_CLASSES_LISTED = 4
MAX_NAME = 30  # characters of an id or a class
# Findings that only describe the data: they are counted with the notes on columns.
_QUIET_FINDINGS = ("duplicate", "few")
_SAYS = {"helps": "", "harms": ": harmful", "cannot tell": ": no clear gain"}
_PLANTED = {
    "uniform": "errors are random",
    "hard": "errors are random among the hardest examples",
    "confusable": "each error is the label that the example is most easily taken for",
    "matrix": "errors follow the matrix that was given",
}


def facts(decision: "Decision", title: str = "") -> dict[str, str]:
    """What there is to say, by name: a line each, the result first."""
    every = {
        "found": found(decision),
        "rate": rate(decision),
        "kept": kept(decision),
        "classes": of_each_class(decision),
        "change": change(decision),
        "clearest": clearest(decision),
        "look": worth_a_look(decision),
        "annotators": annotators(decision),
        "neighbours": neighbours(decision),
        "limit": limit(decision),
        "blind": BLIND if _judged(decision) else "",
        "notes": count_column_notes(decision),
    }
    if every["annotators"]:  # they count the rows to look at
        every["look"] = ""
    if drops_nothing(decision):  # that comes first
        every = {"kept": every.pop("kept"), **every}
    return {"data": describe_data(decision, title)} | {n: text for n, text in every.items() if text}


def terminal_lines(decision: "Decision") -> list[str]:
    """The facts, a line each, then the notes that matter for the decision."""
    return [*facts(decision).values(), *(f"Note: {note}" for note in notes_to_print(decision))]


def describe_data(decision: "Decision", title: str = "") -> str:
    """What was read: rows, the label and its classes."""
    data = decision.data
    files = data.origin.files
    name = title or (files[0].name if files else "data")
    counts = np.bincount(data.labels, minlength=len(data.names))
    if len(counts) <= MAX_CLASSES_LISTED:
        order = np.argsort(-counts, kind="stable").tolist()
        classes = ", ".join(f"{_short(data.names[c])} {counts[c]:,}" for c in order)
    else:
        low, high = int(counts.min()), int(counts.max())
        classes = f"{len(counts):,} classes of {f'{low:,}' if low == high else f'{low:,}–{high:,}'}"
    unit = "images" if data.x.ndim == 4 else "rows"
    label = f'label "{_short(data.origin.label)}" ' if data.origin.label else ""
    return f"{name}: {len(data):,} {unit}, {label}({classes})"


def drops_nothing(decision: "Decision") -> bool:
    """True for a decision that drops none, though it was free to or was asked to."""
    return decision.as_given and (decision.keep is None or decision.rule == EVERYTHING)


def _judged(decision: "Decision") -> bool:
    """True if labels could be judged: there is enough data, and it predicts them."""
    few = decision.rule == EVERYTHING and decision.judgement is None
    return not few and not unpredictable(decision)


def found(decision: "Decision") -> str:
    """How many labels are probably wrong, and how they are mixed up."""
    suspects = decision.suspects
    if not suspects:
        return "" if drops_nothing(decision) else "No label is probably wrong"
    count, names = len(suspects), suspects.names
    pairs = [(names[given], names[other], times) for given, other, times in suspects.pairs()]
    are = "label is" if count == 1 else "labels are"
    listed = [
        f"{times:,}{' ×' * given[:1].isdigit()} {_label(given)} → {_label(other)}"
        for given, other, times in pairs[:SHOWN_PAIRS]
    ]
    more = f": {', '.join(listed)}{', …' * (len(pairs) > SHOWN_PAIRS)}" if listed else ""
    return f"{count:,} {are} probably wrong ({percent(count / len(decision))} %){more}"


def rate(decision: "Decision") -> str:
    """The noise rate."""
    noise = decision.noise_rate
    if noise is None or not _judged(decision):
        return ""
    if noise.high < 0.0005:
        return "Estimated noise rate 0 %: no sign of random errors"
    if decision.natural:
        least = percent(noise.low)
        if least == "0":
            return "Noise rate unknown: errors do not look random"
        return f"Estimated noise rate {least} % or more: errors do not look random"
    half = " and below half" * (len(decision.data.classes) == 2)
    return f"Estimated noise rate {noise} if errors are random{half}"


def kind_of_noise(decision: "Decision") -> str:
    """What the checks make of the data, in accord with the noise rate."""
    looks = "" if decision.judgement is None else decision.judgement.looks
    return "hard examples" if looks == "natural noise" and not decision.natural else looks


def unpredictable(decision: "Decision") -> bool:
    """True if the models predict the label no better than a constant answer."""
    checks = {} if decision.judgement is None else decision.judgement.checks
    return "above chance" in checks and checks["above chance"].outcome == "fails"


def kept(decision: "Decision") -> str:
    """What was done; where nothing was, why not."""
    n, size, weighting = len(decision), decision.kept.size, decision.weighting
    if weighting is not None:
        what = f"{weighting.positions.size:,} of {n:,} by {weighting.score}"
        if weighting.importance is None:
            less = int((weighting.weights < LITTLE).sum())
            what = f"all {n:,} by P(wrong), {less:,} of them below one half"
        return f"Weighted {what}; a pass is worth {weighting.effective_size:,.0f}"
    if drops_nothing(decision):
        return f"Nothing was dropped: {_reason(decision)}"
    changed, trusted = int(decision.changed.sum()), int(decision.data.trusted.sum())
    text = f"Dropped {n - size:,}, kept {size:,}"
    if changed:
        text = f"Dropped {n - size:,}, corrected {changed:,}, kept {size:,}"
    if decision.keep is not None:
        text = f"Kept {size:,} of {n:,} by {decision.rule}"
    if decision.short:
        text += f", {decision.short:,} fewer than asked for: no more pass the gate"
    return f"{text}, all {trusted:,} trusted among them" if trusted else text


def of_each_class(decision: "Decision") -> str:
    """What a share keeps of each class, and why the rest is left out."""
    if decision.keep is None or decision.as_given or decision.weighting is not None:
        return ""
    counts = decision.classes()
    if len(counts) <= MAX_CLASSES_LISTED:
        each = ", ".join(f"{_short(c)} {after:,} of {all:,}" for c, (all, after) in counts.items())
    else:
        shares = [after / max(all, 1) for all, after in counts.values()]
        each = f"{percent(min(shares))}–{percent(max(shares))} % of each of {len(counts):,} classes"
    of = np.bincount(reasons(decision), minlength=len(REASONS)).tolist()
    out = f"{of[1]:,} suspects, {of[2]:,} hard or wrong, {of[3]:,} by score"
    return f"By class: {each} (out: {out})"


def reasons(decision: "Decision") -> NDArray[np.int64]:
    """Why each row is kept or not, as a position in `REASONS`."""
    out = ~decision.mask
    why = np.where(out, 3, 0)
    why[decision.hard[out[decision.hard]]] = 2
    if decision.suspects is not None:
        at = decision.suspects.positions
        why[at[out[at]]] = 1
    return why


def _reason(decision: "Decision") -> str:
    """Why nothing was dropped."""
    if unpredictable(decision):
        what = "images" if decision.data.x.ndim == 4 else "columns"
        return f"the {what} do not predict this label, so errors cannot be found"
    if decision.rule == EVERYTHING and decision.notes:
        return decision.notes[-1].partition(ALL_KEPT)[0]
    return "no label is probably wrong"


def change(decision: "Decision") -> str:
    """What following it changes on held-out rows."""
    if decision.as_given:
        return ""
    if decision.harm is not None:
        return held_out_change(decision.harm)
    touched = len(decision) - decision.kept.size + int(decision.changed.sum())
    why = ""
    if touched < MIN_ROWS_TO_MEASURE:
        why = f": {touched} {'row' if touched == 1 else 'rows'} would not show"
    elif decision.ensemble is not None and decision.ensemble.table.ndim != 2:
        why = ": for pictures it takes an encoder"
    return f"Held-out accuracy was not measured{why}"


def held_out_change(harm: "Harm") -> str:
    """The change in held-out accuracy, the worst class and what it was compared with."""
    name, points = harm.worst
    text = f"Held-out accuracy {harm.change} points{_SAYS[harm.says]}"
    text += f'; worst class "{_short(name)}" {points:+.1f}'.replace("-", "−")
    if "random" in harm.others:
        text += f"; a random subset of that size {harm.others['random']}"
    if harm.flatters:
        text += "; too high, for the decision knows the held-out labels"
    return text


def clearest(decision: "Decision") -> str:
    """The surest suspects."""
    first = [one for one in islice(decision.suspects or (), SHOWN_SUSPECTS) if one.suggested]
    shown = ", ".join(
        f"{_short(one.id)} {_label(one.given)} → {_label(one.suggested)}"
        + (f" ({sure(one.p_wrong)})" if np.isfinite(one.p_suggested) else "")
        for one in first
    )
    return f"Clearest: {shown}" if shown else ""


def sure(p_wrong: float) -> str:
    """P(wrong) as people read it, 99 % at most.

    >>> sure(0.873), sure(0.9999)
    ('87 %', '99 %')
    """
    return f"{100 * min(p_wrong, MAX_P_SHOWN):.0f} %"


def worth_a_look(decision: "Decision") -> str:
    """How many more are hard or wrong, with no claim."""
    count = decision.hard.size if _judged(decision) else 0
    more = "more" if decision.suspects else "labels"
    return f"Hard or wrong, worth a look: {count:,} {more}" if count else ""


def annotators(decision: "Decision") -> str:
    """How good the annotators are, and how many rows need another opinion."""
    people = decision.annotators
    if people is None:
        return ""
    low, high = percent(people.quality.min()), percent(people.quality.max())
    count = people.needs_opinion.size
    need = f"{count:,} {'row needs' if count == 1 else 'rows need'} another opinion"
    quality = f"{low} %" if low == high else f"{low}–{high} %"
    return f"{len(people.names):,} annotators, right in {quality} of their answers; {need}"


def neighbours(decision: "Decision") -> str:
    """How many rows nearly copy another, and how many are far from all."""
    groups, far = decision.near_duplicates, len(decision.outliers)
    labels = decision.data.labels
    torn = sum(len(set(labels[rows])) > 1 for rows in groups)
    parts = []
    if groups:
        rows = f"{sum(map(len, groups)):,} near-duplicate rows in {len(groups):,} "
        rows += "group" if len(groups) == 1 else "groups"
        parts.append(f"{rows}, {torn:,} of them with different labels" if torn else rows)
    if far:
        parts.append(f"{far:,} outlier{'s' * (far > 1)} far from all other rows")
    return "; ".join(parts)


def limit(decision: "Decision") -> str:
    """An upper bound on what is still wrong, with its condition, or nothing."""
    bound = decision.limit
    if bound is None:
        return ""
    given = _PLANTED.get(bound.kind, bound.conditions[0])
    return (
        f"If {given} and no column was made from the label, at most {percent(bound.share)} % of "
        f"the kept labels are wrong ({percent(1 - bound.delta)} % confidence)"
    )


def notes_to_print(decision: "Decision") -> list[str]:
    """The notes that matter for the decision; the rest describes columns."""
    quiet = column_notes(decision)
    if decision.rule == EVERYTHING:  # the last is the reason, which is said already
        quiet = [*quiet, *decision.notes[-1:]]
    return [note for note in decision.notes if note not in quiet]


def count_column_notes(decision: "Decision") -> str:
    """How many notes only describe columns."""
    count = len(column_notes(decision))
    if not count:
        return ""
    return f"{count} {'note' if count == 1 else 'notes'} on the data: in the report"


def column_notes(decision: "Decision") -> list[str]:
    """What a reader noticed that changes nothing in the decision."""
    data = decision.data
    told = {one.text for one in data.findings if one.kind not in _QUIET_FINDINGS}
    told |= {str(leak) for leak in data.leaks}
    return [note for note in data.notes if note not in told and note in decision.notes]


def sentences(decision: "Decision", name: str, out: Path | None = None) -> dict[str, str]:
    """What the page opens with: what was found, what to do, what that changes, what is left.

    `out` is the folder where the page lies.
    """
    files = decision.data.origin.files
    path = str(files[0]) if len(files) == 1 and decision.data.x.ndim != 4 else name
    said = facts(decision, name)
    first = "kept" if drops_nothing(decision) else "found"
    done = said.get("found" if first == "kept" else "kept", "")
    left = (said.get(part, "") for part in ("rate", "limit", "blind"))
    text = {
        "data": said["data"],
        "headline": f"{said[first]}.".replace("….", "…"),
        "done": f"{done}." if done else "",
        "change": f"{said['change']}." if "change" in said else "",
        "left": " ".join(f"{text}." for text in left if text),
        "look": said.get("look", ""),
        "annotators": said.get("annotators", ""),
        "neighbours": said.get("neighbours", ""),
    }
    # A number stays on the line of what it counts.
    text = {at: re.sub(r"(\d) (?=[^ ]+ →|×|%)", "\\1\u00a0", one) for at, one in text.items()}
    return {**text, "next": next_command(decision, path, out)}


def next_step(decision: "Decision") -> tuple[str, ...]:
    """The command to go on with: look at suspects, or at a random sample where there are none."""
    look = decision.suspects or worth_a_look(decision)
    return ("review",) if look else ("audit", "draw")


def next_command(decision: "Decision", name: str = "DATA", out: Path | None = None) -> str:
    """The same with what it takes to read the data and find what was trained, to be typed."""
    step = next_step(decision)
    out = out if step == ("review",) and out != DEFAULT_OUT else None
    reading = {**decision.data.origin.reading, "out": out and str(out)}
    return shlex.join(["dris", *step, name, *command_words(reading)])


def _label(name: str) -> str:
    """A label beside numbers: quoted where it could be read as one of them.

    >>> _label("cat"), _label("7")
    ('cat', '"7"')
    """
    return f'"{_short(name)}"' if name[:1].isdigit() else _short(name)


def _short(text: object) -> str:
    return one_line(text, MAX_NAME)
