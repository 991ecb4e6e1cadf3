"""To and from other tools: Label Studio, Argilla, a spreadsheet.

An example travels with its id, its columns, the suggestion and the answers so far; what comes back
is the label that a person gives it. The given label means right, another one wrong.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dris.core.errors import InputError
from dris.core.sanitize import from_json
from dris.data.files import listed, one_line, reading
from dris.pipeline.audit import answer_sheet, read_answers
from dris.review_app.session import ReviewSession, check_reviewer
from dris.review_app.worklist import NO_LABEL

MODEL = "dris"
# A label as a person gives it: its name, "" for wrong without another one, None for unsure.
Label = str | None


@dataclass(frozen=True, slots=True)
class Item:
    """One card on its way out: texts only, and who gave it which label."""

    id: str
    given: str
    suggested: str
    p_wrong: float
    fields: dict[str, str]
    answers: dict[str, Label]

    @property
    def text(self) -> str:
        """All columns, one a line."""
        return "\n".join(f"{name}: {value}" for name, value in self.fields.items())


@dataclass(frozen=True, slots=True)
class Returned:
    """An answer that came back: of which example, by whom, the label it should have."""

    id: str
    who: str
    label: Label
    given: str | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A tool's format: how its files end, how cards are written and answers read."""

    suffix: str
    write: Callable[[list[Item]], bytes]
    read: Callable[[Path], Iterator[Returned]]


def export_cards(session: ReviewSession, tool: str) -> bytes:
    """All cards in the format of a tool, answers included."""
    data, worklist = session.data, session.worklist
    names = {NO_LABEL: "", **dict(enumerate(data.names))}
    items = []
    for k, card in enumerate(session.cards(worklist.positions.tolist())):
        given = names[int(data.labels[card["at"]])]
        answers = {
            who: {"right": given, "wrong": names[answer.label]}.get(answer.kind)
            for who, answer in session.state.given.get(card["at"], {}).items()
        }
        suggested, p_wrong = names[int(worklist.suggested[k])], float(worklist.p_wrong[k])
        fields = dict(card["fields"])
        items.append(Item(card["id"], given, suggested, p_wrong, fields, answers))
    return EXCHANGES[tool].write(items)


def import_answers(session: ReviewSession, returned: list[Returned], path: Path, who: str) -> int:
    """Take answers that came back into the journal, once all are checked; none is repeated.

    They may be about any example of the data, on the worklist or not.
    """
    data = session.data
    places = {str(name): at for at, name in enumerate(data.ids.tolist())}
    numbers = {str(value): number for number, value in enumerate(data.classes)}
    numbers |= {name: number for number, name in enumerate(data.names)}
    new = []
    for back in returned:
        name = one_line(repr(back.id))
        if back.id not in places:
            raise InputError(
                f"{path} answers {name}, which is no id of this data; review the data itself, "
                "with the same id"
            )
        at = places[back.id]
        given = int(data.labels[at])
        if back.given is not None and numbers.get(back.given) != given:
            raise InputError(
                f"{path} calls the given label of {name} {one_line(repr(back.given))}, in the "
                f"data it is {one_line(repr(data.names[given]))}; review this data"
            )
        if back.label and back.label not in numbers:
            raise InputError(
                f"{path} gives {name} the label {one_line(repr(back.label))}, which is no class "
                f"of this data; its classes are {listed(data.names)}"
            )
        label = numbers[back.label] if back.label else NO_LABEL
        kind = "unsure" if back.label is None else "right" if label == given else "wrong"
        entry = (kind, label if kind == "wrong" else NO_LABEL)
        reviewer = check_reviewer(back.who if back.who.strip() else who)
        own = session.state.by(reviewer, at)
        if own is None or own[:2] != entry:
            new.append((reviewer, at, *entry))
    for answer in new:
        session.answer(*answer)
    return len(new)


# -- Label Studio ----------------------------------------------------------------------------------


def _choices(label: Label) -> list[dict[str, Any]]:
    value = {"choices": [label]}
    one = {"from_name": "label", "to_name": "example", "type": "choices", "value": value}
    return [one] if label else []


def _to_label_studio(items: list[Item]) -> bytes:
    def task(number: int, item: Item) -> dict[str, Any]:
        names = {"id": item.id, "given": item.given, "suggested": item.suggested}
        fields = {f"field_{name}": value for name, value in item.fields.items()}
        predicted = {"model_version": MODEL, "score": item.p_wrong}
        return {
            "id": number,
            "data": {**names, **fields, "text": item.text},
            "predictions": [{**predicted, "result": _choices(item.suggested)}],
            "annotations": [
                {
                    "completed_by": {"email": who},
                    "was_cancelled": not label,
                    "result": _choices(label),
                }
                for who, label in item.answers.items()
            ],
        }

    return _json([task(number, item) for number, item in enumerate(items, 1)])


def _from_label_studio(path: Path) -> Iterator[Returned]:
    with _records_in(path, "Label Studio's JSON export") as tasks:
        for task in tasks:
            name = str(task["data"]["id"])
            for one in task.get("annotations", []):
                who = one.get("completed_by", "")
                who = who.get("email", "") if isinstance(who, dict) else str(who)
                picked = [c for r in one["result"] for c in r["value"].get("choices", [])]
                unsure = one.get("was_cancelled") or not picked
                yield Returned(name, who, None if unsure else str(picked[0]))


# -- Argilla ---------------------------------------------------------------------------------------


def _to_argilla(items: list[Item]) -> bytes:
    def record(item: Item) -> dict[str, Any]:
        suggests = {"value": item.suggested, "score": item.p_wrong, "agent": MODEL}
        # Argilla has no response without a value: who is unsure stands in the metadata.
        responses = [{"value": v, "user_id": who} for who, v in item.answers.items() if v]
        unsure = [who for who, value in item.answers.items() if not value]
        return {
            "id": item.id,
            "fields": {"text": item.text or item.id},
            "metadata": {"given": item.given, "p_wrong": item.p_wrong, "unsure": unsure},
            "suggestions": {"label": suggests} if item.suggested else {},
            "responses": {"label": responses},
            "vectors": {},
            "status": "completed" if item.answers else "pending",
        }

    return _json([record(item) for item in items])


def _from_argilla(path: Path) -> Iterator[Returned]:
    with _records_in(path, "Argilla's records.to_json()") as records:
        for record in records:
            name = str(record["id"])
            for one in (record.get("responses") or {}).get("label", []):
                yield Returned(name, str(one.get("user_id") or ""), str(one["value"]))
            for who in (record.get("metadata") or {}).get("unsure") or []:
                yield Returned(name, str(who), None)


# -- CSV -------------------------------------------------------------------------------------------


def _to_csv(items: list[Item]) -> bytes:
    """The file that people fill in; what several of them disagree on is unsure."""
    rows = []
    for item in items:
        labels = set(item.answers.values())
        label = labels.pop() if len(labels) == 1 else None
        answer = "wrong" if label is not None else "unsure" if item.answers else ""
        if label == item.given:
            answer, label = "right", ""
        rows.append((item.id, item.given, item.suggested, answer, label or ""))
    names = list(items[0].fields) if items else []
    return answer_sheet(rows, {name: [item.fields[name] for item in items] for name in names})


def _from_csv(path: Path) -> Iterator[Returned]:
    for line in read_answers(path):
        label = {"right": line.given, "wrong": line.corrected}.get(line.answer)
        yield Returned(line.id, "", label, line.given)


EXCHANGES = {
    "label-studio": Exchange(".json", _to_label_studio, _from_label_studio),
    "argilla": Exchange(".json", _to_argilla, _from_argilla),
    "csv": Exchange(".csv", _to_csv, _from_csv),
}


def _json(values: Any) -> bytes:
    return (json.dumps(values, ensure_ascii=True, indent=1) + "\n").encode()


@contextmanager
def _records_in(path: Path, what: str) -> Iterator[list[Any]]:
    """The list in a JSON file; what is missing in its records is an error of the file."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with reading(path, "export"):
        text = path.read_bytes()
    try:
        records = from_json(text)
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({one_line(error)}); export it again") from None
    if not isinstance(records, list):
        raise InputError(f"{path} must be a list of records; export it again")
    try:
        yield records
    except (KeyError, TypeError, AttributeError) as error:
        why = one_line(repr(error))
        raise InputError(f"{path} is not {what} ({why}); export it again") from None
