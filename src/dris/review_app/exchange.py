"""To and from tools that people have already: Label Studio, Argilla, a spreadsheet.

Whatever the tool, an example travels with its id, its columns, the suggestion and what people said
so far; what comes back is the label that a person gives it. The given label means right, another
one wrong.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dris.core.checks.verdicts import NO_LABEL
from dris.core.errors import InputError
from dris.core.sanitize import from_json, guarded
from dris.data.files import listed, one_line, reading
from dris.pipeline.answers import COLUMNS, read_ticks
from dris.review_app.session import Desk, reviewer
from dris.review_app.worklist import Worklist

MODEL = "dris"
UNSURE = "unsure"
# What Label Studio is to show; paste it under Labeling Interface, with the classes filled in.
VIEW = """<View>
  <Header value="given: $given, suggested: $suggested"/>
  {shown}
  <Choices name="label" toName="example" choice="single">
{choices}
  </Choices>
</View>
"""


@dataclass(frozen=True, slots=True)
class Item:
    """One card on its way: texts only, and who said what ("unsure", or a label)."""

    id: str
    given: str
    suggested: str
    suspicion: float
    fields: dict[str, str]
    said: dict[str, str]


@dataclass(frozen=True, slots=True)
class Back:
    """An answer that came back: of which example, by whom, the label it should have."""

    id: str
    who: str
    label: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """A tool's format: how its files end, how cards are written and answers read."""

    title: str
    suffix: str
    write: Callable[[list[Item]], bytes]
    read: Callable[[Path], Iterator[Back]]


def exported(desk: Desk, kind: str) -> bytes:
    """All cards in the format of a tool, answers included."""
    return EXCHANGES[kind].write(items_of(desk))


def items_of(desk: Desk) -> list[Item]:
    """The cards of a worklist as texts, in its order."""
    names, made = desk.data.names, desk.worklist
    cards = desk.cards(made.positions.tolist())
    found = []
    for k, card in enumerate(cards):
        at = card["at"]
        other = int(made.suggested[k])
        given = int(desk.data.labels[at])
        said = {}
        for who, answer in desk.standing.said.get(at, {}).items():
            label = given if answer.verdict == "right" else answer.label
            # What is wrong without another label has no word in these tools.
            said[who] = UNSURE if label == NO_LABEL else names[label]
        found.append(
            Item(
                id=card["id"],
                given=names[given],
                suggested=names[other] if other != NO_LABEL else "",
                suspicion=float(made.suspicion[k]),
                fields=dict(card["fields"]),
                said=said,
            )
        )
    return found


def taken_in(desk: Desk, path: Path, kind: str, who: str) -> int:
    """Ticks from a tool's export into the journal; answers that are there already are not repeated.

    All of the file is checked before the first tick is written.
    """
    made: Worklist = desk.worklist
    places = {str(desk.data.ids[at]): at for at in made.positions.tolist()}
    numbers = {name: number for number, name in enumerate(desk.data.names)}
    acts = []
    for back in EXCHANGES[kind].read(path):
        if back.id not in places:
            raise InputError(
                f"{path} answers {one_line(repr(back.id))}, which is not on this worklist; "
                "import what was exported from this review"
            )
        if back.label != UNSURE and back.label not in numbers:
            raise InputError(
                f"{path} gives {one_line(back.id)} the label {one_line(repr(back.label))}, which "
                f"is no class of this data; its classes are {listed(desk.data.names)}"
            )
        at, name = places[back.id], reviewer(back.who if back.who.strip() else who)
        number = numbers.get(back.label, NO_LABEL)
        given = int(desk.data.labels[at])
        verdict = "unsure" if number == NO_LABEL else "right" if number == given else "wrong"
        own = desk.standing.by(name, at)
        label = number if verdict == "wrong" else NO_LABEL
        if own is None or own[:2] != (verdict, label):
            acts.append((name, at, verdict, label))
    for name, at, verdict, label in acts:
        desk.tick(name, at, verdict, label)
    return len(acts)


# -- Label Studio ----------------------------------------------------------------------------------


def _choice(label: str) -> dict[str, Any]:
    value = {"choices": [label]}
    return {"from_name": "label", "to_name": "example", "type": "choices", "value": value}


def _to_label_studio(items: list[Item]) -> bytes:
    tasks = []
    for number, item in enumerate(items, 1):
        suggests = [_choice(item.suggested)] if item.suggested else []
        tasks.append(
            {
                "id": number,
                "data": {
                    "id": item.id,
                    "given": item.given,
                    "suggested": item.suggested,
                    **{f"field_{name}": value for name, value in item.fields.items()},
                    "text": "\n".join(f"{name}: {value}" for name, value in item.fields.items()),
                },
                "predictions": [
                    {"model_version": MODEL, "score": item.suspicion, "result": suggests}
                ],
                "annotations": [
                    {
                        "completed_by": {"email": who},
                        "was_cancelled": label == UNSURE,
                        "result": [] if label == UNSURE else [_choice(label)],
                    }
                    for who, label in item.said.items()
                ],
            }
        )
    return _json(tasks)


def _from_label_studio(path: Path) -> Iterator[Back]:
    for task in _list_in(path):
        try:
            name = str(task["data"]["id"])
            for one in task.get("annotations", []):
                who = one.get("completed_by", "")
                who = who.get("email", "") if isinstance(who, dict) else str(who)
                picked = [c for r in one["result"] for c in r["value"].get("choices", [])]
                if one.get("was_cancelled") or not picked:
                    yield Back(name, who, UNSURE)
                else:
                    yield Back(name, who, str(picked[0]))
        except (KeyError, TypeError, AttributeError) as error:
            raise _not_this(path, "Label Studio's JSON export", error) from None


# -- Argilla ---------------------------------------------------------------------------------------


def _to_argilla(items: list[Item]) -> bytes:
    def record(item: Item) -> dict[str, Any]:
        text = "\n".join(f"{name}: {value}" for name, value in item.fields.items())
        suggests = {"value": item.suggested, "score": item.suspicion, "agent": MODEL}
        # Argilla has no response without a value: who is unsure stands in the metadata.
        said = [{"value": v, "user_id": who} for who, v in item.said.items() if v != UNSURE]
        unsure = [who for who, value in item.said.items() if value == UNSURE]
        return {
            "id": item.id,
            "fields": {"text": text or item.id},
            "metadata": {"given": item.given, "suspicion": item.suspicion, "unsure": unsure},
            "suggestions": {"label": suggests} if item.suggested else {},
            "responses": {"label": said},
            "vectors": {},
            "status": "completed" if item.said else "pending",
        }

    return _json([record(item) for item in items])


def _from_argilla(path: Path) -> Iterator[Back]:
    for record in _list_in(path):
        try:
            name = str(record["id"])
            for one in (record.get("responses") or {}).get("label", []):
                yield Back(name, str(one.get("user_id") or ""), str(one["value"]))
            for who in (record.get("metadata") or {}).get("unsure") or []:
                yield Back(name, str(who), UNSURE)
        except (KeyError, TypeError, AttributeError) as error:
            raise _not_this(path, "Argilla's records.to_json()", error) from None


# -- CSV -------------------------------------------------------------------------------------------


def _to_csv(items: list[Item]) -> bytes:
    """The file that `dris audit apply` reads; what several people disagree on is unsure."""
    out = io.StringIO()
    writer = csv.writer(out)
    fields = list(items[0].fields) if items else []
    writer.writerow([*COLUMNS, *map(guarded, fields)])
    for item in items:
        labels = set(item.said.values())
        label = labels.pop() if len(labels) == 1 else UNSURE if labels else ""
        verdict, corrected = label, ""
        if label not in ("", UNSURE):
            verdict = "right" if label == item.given else "wrong"
            corrected = "" if label == item.given else label
        cells = (item.id, item.given, item.suggested, verdict, corrected)
        writer.writerow([*map(guarded, cells), *(guarded(item.fields[f]) for f in fields)])
    return out.getvalue().encode()


def _from_csv(path: Path) -> Iterator[Back]:
    for tick in read_ticks(path):
        label = tick.given if tick.verdict == "right" else tick.corrected or UNSURE
        yield Back(tick.id, "", UNSURE if tick.verdict == "unsure" else label)


EXCHANGES = {
    "label-studio": Exchange("Label Studio JSON", ".json", _to_label_studio, _from_label_studio),
    "argilla": Exchange("Argilla records", ".json", _to_argilla, _from_argilla),
    "csv": Exchange("CSV", ".csv", _to_csv, _from_csv),
}


def _json(values: Any) -> bytes:
    return (json.dumps(values, ensure_ascii=True, indent=1) + "\n").encode()


def _list_in(path: Path) -> list[Any]:
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with reading(path, "export"):
        text = path.read_bytes()
    try:
        found = from_json(text)
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({one_line(error)}); export it again") from None
    if not isinstance(found, list):
        raise InputError(f"{path} must be a list of records; export it again")
    return found


def _not_this(path: Path, what: str, error: Exception) -> InputError:
    return InputError(f"{path} is not {what} ({one_line(repr(error))}); export it again")
