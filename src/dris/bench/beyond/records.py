"""A study's records in one small file, and what tables ask of them."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dris.bench.beyond.setting import Study
from dris.bench.spec import Noise
from dris.core.dynamics.arrayfile import write_atomically
from dris.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Column:
    """One noise at one keep fraction: what the rules of a table's column share."""

    noise: Noise
    keep: float

    def __str__(self) -> str:
        return f"{self.noise}, α = {self.keep:g}"


@dataclass(frozen=True, slots=True)
class Results:
    """A study and its records, one per rule, column and seed."""

    study: Study
    records: tuple[dict[str, Any], ...]

    def values(self, what: str, rule: str, column: Column) -> list[float]:
        """One rule's numbers in a column, seed by seed; empty where it was not run.

        >>> cell = {"kind": "clean", "rate": 0.0, "keep": 0.5, "rule": "aum", "seed": 0}
        >>> found = Results(None, ({**cell, "accuracy": 0.9},))
        >>> found.values("accuracy", "aum", Column(Noise("clean", 0.0), 0.5))
        [0.9]
        """
        mine = [
            r
            for r in self.records
            if (r["rule"], r["keep"]) == (rule, column.keep)
            and Noise(r["kind"], r["rate"]) == column.noise
        ]
        return [r[what] for r in sorted(mine, key=lambda r: r["seed"])]

    @property
    def columns(self) -> list[Column]:
        """Every column, the noises in the order they were run."""
        pairs = [Column(Noise(r["kind"], r["rate"]), r["keep"]) for r in self.records]
        return list(dict.fromkeys(pairs))


def flat(record: dict[str, Any]) -> dict[str, Any]:
    """A cell's record without its study, numbers to six digits."""
    cell = record["cell"]
    return {
        **cell["noise"],
        **{name: cell[name] for name in ("keep", "rule", "seed")},
        **{name: round(record[name], 6) for name in ("accuracy", "contamination")},
        **{name: record[name] for name in ("size", "passed", "short") if record[name]},
    }


def write_results(study: Study, records: Sequence[dict[str, Any]], path: Path) -> Path:
    """One line per record, so that a change shows as a line."""
    lines = ",\n".join(json.dumps(flat(record)) for record in records)
    text = f'{{"study": {json.dumps(asdict(study))},\n"records": [\n{lines}\n]}}\n'
    return write_atomically(path, [text.encode()])


def read_results(path: Path) -> Results:
    """What `write_results` wrote."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; run python -m dris.bench.beyond first")
    found = json.loads(path.read_text())
    return Results(Study(**found["study"]), tuple(found["records"]))
