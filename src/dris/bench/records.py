"""Records read back: rows that tables, figures and claims ask for numbers, by seed."""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dris.bench.spec import Ensemble, Noise, key_of
from dris.core.errors import InputError
from dris.data.writer import OWN, Writer
from dris.learn.recipe import Recipe

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
        "target": cell["target"] and cell["target"]["model"],
        "seed": cell["seed"],
        "key": key_of(cell),
        "found": _rounded(record["found"]),
        "seconds": record.get("seconds", {}),
    }


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


@dataclass(frozen=True, slots=True)
class Records:
    """The rows of one experiment at one scale, of `cells` that it has.

    >>> row = {"rule": "aum", "noise": "clean", "seed": 1, "found": {"accuracy": 0.9}}
    >>> Records("pruning", "cpu", (row,)).by_seed("accuracy", rule="aum")
    {1: 0.9}
    """

    experiment: str
    scale: str
    rows: tuple[Row, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    cells: int = 0

    def where(self, **like: Any) -> list[Row]:
        """The rows whose fields are as given, by seed; noises are compared by their words."""
        wanted = {name: str(v) if isinstance(v, Noise) else v for name, v in like.items()}
        mine = [r for r in self.rows if all(r.get(name) == v for name, v in wanted.items())]
        return sorted(mine, key=lambda row: row["seed"])

    def by_seed(self, what: str, **like: Any) -> dict[int, float]:
        """One number of what was found, by seed; empty where nothing was run."""
        return {row["seed"]: row["found"][what] for row in self.where(**like)}

    def values(self, what: str, **like: Any) -> list[float]:
        """One number of what was found, of every row that is meant, in the order of the seeds."""
        return [row["found"][what] for row in self.where(**like)]


def gather(
    experiment: str, scale: str, records: Sequence[Mapping[str, Any]], cells: int | None = None
) -> Records:
    """The rows of finished records, which are all there are unless `cells` says otherwise."""
    made = records[0]["versions"] if records else {}
    rows = tuple(row_of(record) for record in records)
    return Records(experiment, scale, rows, made, len(rows) if cells is None else cells)


def write_records(found: Records, path: Path, *, writer: Writer = OWN) -> Path:
    """One line per row, so that a change shows as a line; many rows go into several files.

    The files after `NAME.json` are `NAME-2.json` and so on, each with the same head.
    """
    head = {
        "experiment": found.experiment,
        "scale": found.scale,
        "cells": found.cells,
        "versions": dict(found.versions),
    }
    parts = range(0, max(len(found.rows), 1), ROWS)
    for number, start in enumerate(parts, 1):
        lines = ",\n".join(json.dumps(row) for row in found.rows[start : start + ROWS])
        text = json.dumps(head)[:-1] + f', "rows": [\n{lines}\n]}}\n'
        writer.write(_part(path, number), [text.encode()])
    for number in itertools.count(len(parts) + 1):  # of an earlier, longer run
        if not _part(path, number).exists():
            return path
        writer.remove(_part(path, number))
    raise AssertionError


def read_records(path: Path) -> Records:
    """What `write_records` wrote."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; run the experiment first")
    found = json.loads(path.read_text())
    rows: list[Row] = found["rows"]
    for number in itertools.count(2):
        if not _part(path, number).is_file():
            break
        rows += json.loads(_part(path, number).read_text())["rows"]
    return Records(
        found["experiment"], found["scale"], tuple(rows), found["versions"], found["cells"]
    )


def _part(path: Path, number: int) -> Path:
    return path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
