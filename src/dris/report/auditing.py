"""An audit on disk: what was drawn for a person to check, sealed, and the limit once it is checked.

The CSV file is for the person. A JSON file of the same name beside it says what was drawn from
what: without it, or when the two disagree, there is no limit.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.arrayfile import write_atomically
from dris.core.audit import AuditLimit, audit_limit, draw_audit
from dris.core.errors import InputError
from dris.core.selection import Subset
from dris.core.streams import rng_for
from dris.data.files import fingerprint_of, one_line
from dris.data.labelled import LabelledData
from dris.data.looks import looks
from dris.report.ticks import questions, read_ticks

FORMAT = 1


def beside(path: Path) -> Path:
    """The file that seals an audit.

    >>> str(beside(Path("audit.csv")))
    'audit.json'
    """
    return path.with_suffix(".json")


def write_audit(
    kept: LabelledData, n: int, path: Path, *, seed: int = 0, delta: float = 0.05
) -> NDArray[np.int64]:
    """Draw n examples of what was kept and write both files; returns the positions drawn.

    The label that proxies would give is not shown: who is told an answer no longer checks.
    """
    audit_limit(size=len(kept), checked=0, wrong=0, delta=delta)  # refuses a delta that is none
    everything = Subset(np.arange(len(kept)), "as read", {}, len(kept))
    drawn = draw_audit(everything, n, rng=rng_for(seed, "audit"))
    asked = [(str(kept.ids[i]), kept.names[kept.labels[i]], "") for i in drawn.tolist()]
    # Pictures are many files: only a table's own can be looked up again by name.
    files = [] if kept.paths is not None else [str(file.resolve()) for file in kept.origin.files]
    note = {
        "format": FORMAT,
        "size": len(kept),
        "fingerprint": kept.origin.fingerprint,
        "files": files,
        "seed": seed,
        "delta": delta,
        "drawn": [[name, given] for name, given, _ in asked],
    }
    text = json.dumps({**note, "seal": _seal(note)}, indent=1) + "\n"
    write_atomically(beside(path), [text.encode()])
    write_atomically(path, [questions(asked, looks(kept, drawn))])
    return drawn


def read_audit(path: Path) -> AuditLimit:
    """The exact limit that follows from a finished audit; unsure counts as wrong."""
    note = _note(path)
    drawn: dict[str, str] = dict(note["drawn"])
    ticks = read_ticks(path)
    for tick in ticks:
        if tick.id not in drawn:
            raise InputError(
                f"{path} holds {one_line(repr(tick.id))}, which was not drawn; only the draw "
                "itself has a limit, so remove the row"
            )
        if tick.given != drawn[tick.id]:
            raise InputError(
                f"{path} gives {one_line(tick.id)} the label {one_line(repr(tick.given))}, drawn "
                f"was {one_line(repr(drawn[tick.id]))}; leave that column as it was"
            )
    left = [name for name in drawn if name not in {tick.id for tick in ticks}]
    if left:
        raise InputError(
            f"{len(left)} of the {len(drawn)} drawn have no verdict in {path}, such as "
            f"{one_line(left[0])}; an audit that stopped early has no limit, so check them all "
            "(unsure where it cannot be told)"
        )
    _refuse_other_subset(note, path)
    wrong = sum(tick.verdict != "right" for tick in ticks)
    return audit_limit(size=note["size"], checked=len(drawn), wrong=wrong, delta=note["delta"])


def _note(path: Path) -> dict[str, Any]:
    sealed = beside(path)
    if not sealed.is_file():
        raise InputError(
            f"{sealed} is not there, and it says what {path.name} was drawn from; keep the two "
            "side by side, or draw again with dris audit draw"
        )
    try:
        note: dict[str, Any] = json.loads(sealed.read_text(encoding="utf-8"))
        seal = note.pop("seal")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{sealed} is no file of dris audit draw; draw again") from None
    if note.get("format") != FORMAT or seal != _seal(note):
        raise InputError(f"{sealed} was altered since the draw, so there is no limit; draw again")
    return note


def _refuse_other_subset(note: dict[str, Any], path: Path) -> None:
    """The limit is about the rows that were drawn from; a file that changed holds others."""
    files = [Path(file) for file in note["files"]]
    there = bool(files) and all(file.is_file() for file in files)
    if there and fingerprint_of(files) != note["fingerprint"]:
        raise InputError(
            f"{files[0]} has changed since {path.name} was drawn from it, so the limit would "
            "not be about it; draw again"
        )


def _seal(note: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(note, sort_keys=True).encode()).hexdigest()
