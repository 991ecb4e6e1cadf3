"""Records read back: rows that tables, figures and claims ask for numbers, by seed."""

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dris import InputError
from experiments.dris_internals import OWN, Recipe, Writer, from_json, reading
from experiments.spec import Ensemble, Noise, key_of, short_name

Row = dict[str, Any]
ROWS = 1_000
"""Of one file: a repository wants no large ones."""


def row_of(record: Mapping[str, Any]) -> Row:
    """A record as a flat row: what the cell was in words, what was found, the seconds."""
    cell = record["cell"]
    return {
        "kind": cell["kind"],
        "data": cell["source"]["name"],
        "examples": cell["source"]["examples"],
        "noise": str(Noise(**cell["noise"])),
        "proxies": str(_ensemble(cell["ensemble"])),
        "rule": cell["rule"],
        "keep": cell["keep"],
        "target": cell["target"] and short_name(cell["target"]["model"]),
        "seed": cell["seed"],
        "key": key_of(cell),
        "result": _rounded(record["result"]),
        "seconds": record.get("seconds", {}),
        "made": record["made"],
    }


def _made(row: Row) -> tuple[tuple[str, Any], ...]:
    return tuple(row.get("made", {}).items())


def _ensemble(content: Mapping[str, Any]) -> Ensemble:
    made = {**content, "models": tuple(content["models"])}
    return Ensemble(**{**made, **{n: Recipe(**content[n]) for n in ("recipe", "attack")}})


def _rounded(value: Any) -> Any:
    """Six digits: compact, and more than any number here is worth."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list) else value


def counts(result: Mapping[str, Any]) -> bool:
    """Whether a claim may read what a run came to.

    Not where its accuracy had to be imputed, nor, in earlier records, where uniform draws rescued
    a run whose plan could not be built.

    >>> counts({"accuracy": 0.9}), counts({"accuracy": 0.1, "imputed": True})
    (True, False)
    """
    return not (result.get("imputed") or result.get("rescued"))


@dataclass(frozen=True, slots=True)
class Records:
    """The rows of one experiment at one scale, of `cells` that it has.

    >>> row = {"rule": "aum", "noise": "clean", "seed": 1, "result": {"accuracy": 0.9}}
    >>> Records("pruning", "cpu", (row,)).by_seed("accuracy", rule="aum")
    {1: 0.9}
    """

    experiment: str
    scale: str
    rows: tuple[Row, ...]
    cells: int = 0

    @property
    def made(self) -> list[Mapping[str, Any]]:
        """What its rows were made with, each set of versions once.

        >>> Records("", "", ({"made": {"numpy": "2"}}, {"made": {"numpy": "2"}})).made
        [{'numpy': '2'}]
        """
        return [dict(one) for one in dict.fromkeys(map(_made, self.rows))]

    def where(self, **like: Any) -> list[Row]:
        """The rows whose fields are as given, by seed; noises are compared by their words."""
        wanted = {name: str(v) if isinstance(v, Noise) else v for name, v in like.items()}
        mine = [r for r in self.rows if all(r.get(name) == v for name, v in wanted.items())]
        return sorted(mine, key=lambda row: row["seed"])

    def by_seed(self, what: str, **like: Any) -> dict[int, float]:
        """One number of what was found, by seed, that supports a claim; empty where none does.

        >>> row = {"seed": 0, "result": {"accuracy": 0.1, "imputed": True}}
        >>> records = Records("pruning", "cpu", (row,))
        >>> records.by_seed("accuracy"), records.values("accuracy")
        ({}, [0.1])
        """
        return {
            row["seed"]: row["result"][what] for row in self.where(**like) if counts(row["result"])
        }

    def values(self, what: str, **like: Any) -> list[float]:
        """One number of every row that is meant and has it, in the order of the seeds."""
        result = (row["result"][what] for row in self.where(**like))
        return [value for value in result if value is not None]


def gather(
    experiment: str, scale: str, records: Sequence[Mapping[str, Any]], cells: int | None = None
) -> Records:
    """The rows of finished records, which are all there are unless `cells` says otherwise."""
    rows = tuple(row_of(record) for record in records)
    return Records(experiment, scale, rows, len(rows) if cells is None else cells)


def write_records(result: Records, path: Path, *, writer: Writer = OWN) -> Path:
    """One line per row, so that a change shows as a line; many rows go into several files.

    The files after `NAME.json` are `NAME-2.json` and so on, each with the same head. What rows
    were made with is in the head, and a row has its place there. The seconds of the rows lie
    beside them, in `NAME.time.json` where there are any: the records of two runs by the same
    commit on machines of one class are the same bytes.
    """
    head = {
        "experiment": result.experiment,
        "scale": result.scale,
        "cells": result.cells,
        "made": result.made,
    }
    places = {tuple(one.items()): place for place, one in enumerate(result.made)}
    parts = range(0, max(len(result.rows), 1), ROWS)
    texts: dict[Path, str] = {}
    for number, start in enumerate(parts, 1):
        rows = result.rows[start : start + ROWS]
        plain = (
            {n: v for n, v in row.items() if n != "seconds"} | {"made": places[_made(row)]}
            for row in rows
        )
        part = _part(path, number)
        texts[part] = f'{json.dumps(head)[:-1]}, "rows": {_lines(plain)}}}\n'
        if any(row.get("seconds") for row in rows):
            texts[_clock(part)] = _lines(row.get("seconds", {}) for row in rows) + "\n"
    for target, text in texts.items():
        writer.write(target, [text.encode()])
    for number in itertools.count(1):  # of an earlier run, that was longer or looked at the clock
        part = _part(path, number)
        left = [old for old in (part, _clock(part)) if old.exists() and old not in texts]
        for old in left:
            writer.remove(old)
        if not left and part not in texts:
            return path
    raise AssertionError


def read_records(path: Path) -> Records:
    """What `write_records` wrote."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; run the experiment first")
    rows: list[Row] = []
    for number in itertools.count(1):
        part = _part(path, number)
        if not part.is_file():
            break
        with reading(part, "file of records"):
            result = from_json(part.read_bytes())
            mine = [
                {"seconds": {}, **row, "made": result["made"][row["made"]]}
                for row in result["rows"]
            ]
            if _clock(part).is_file():
                clocks = from_json(_clock(part).read_bytes())
                for row, seconds in zip(mine, clocks, strict=True):
                    row["seconds"] = seconds
            head = Records(result["experiment"], result["scale"], (), result["cells"])
        rows += mine
    return replace(head, rows=tuple(rows))


def _lines(values: Iterable[Any]) -> str:
    """A list with a line for each value."""
    return "[\n" + ",\n".join(map(json.dumps, values)) + "\n]"


def _clock(part: Path) -> Path:
    return part.with_suffix(".time.json")


def _part(path: Path, number: int) -> Path:
    return path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
