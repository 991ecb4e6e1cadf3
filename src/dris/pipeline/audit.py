"""An audit on disk: what was drawn for a person to check, sealed, and the limit once it is checked.

The CSV file is for the person. What was drawn from what is said by a JSON file of the same name
beside it or, in the report's export, by the CSV file's own sixth heading: without it, or when the
two disagree, there is no limit.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.certify.random_audit import AuditLimit, audit_limit, draw_audit
from dris.core.errors import InputError
from dris.core.sanitize import from_json
from dris.core.select.selection import Subset
from dris.core.streams import rng_for
from dris.data.display import looks
from dris.data.files import fingerprint_of, named, one_line
from dris.data.labelled import LabelledData
from dris.data.writer import Writer
from dris.pipeline.answers import heading_after, questions, read_ticks

FORMAT = 1


def beside(path: Path) -> Path:
    """The file that seals an audit.

    >>> str(beside(Path("audit.csv")))
    'audit.json'
    """
    return named(path).with_suffix(".json")


def write_audit(
    kept: LabelledData,
    n: int,
    path: Path,
    *,
    seed: int = 0,
    delta: float = 0.05,
    writer: Writer | None = None,
) -> NDArray[np.int64]:
    """Draw n examples of what was kept and write both files; returns the positions drawn.

    The label that proxies would give is not shown: who is told an answer no longer checks.
    """
    writer = (writer or Writer()).reading(*kept.origin.files)
    writer.refuse(path, beside(path))
    # Pictures are many files: only a table's own can be looked up again by name.
    files = [] if kept.paths is not None else [str(file.resolve()) for file in kept.origin.files]
    everything = np.arange(len(kept))
    drawn, note = sealed_draw(kept, everything, n, files=files, seed=seed, delta=delta)
    asked = [(*pair, "") for pair in note["drawn"]]
    with writer.together() as both:
        both.write(beside(path), [(json.dumps(note, indent=1) + "\n").encode()])
        both.write(path, [questions(asked, looks(kept, drawn))])
    return drawn


def sealed_draw(
    data: LabelledData,
    kept: NDArray[np.int64],
    n: int,
    *,
    files: Sequence[str] = (),
    seed: int = 0,
    delta: float = 0.05,
) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """Positions of n kept examples drawn at random, and the note that says so, sealed.

    >>> data = LabelledData.of(np.eye(4), [0, 1, 0, 1], classes=("cat", "dog"))
    >>> drawn, note = sealed_draw(data, np.array([0, 2]), 1)
    >>> note["size"], note["drawn"][0][1]
    (2, 'cat')
    """
    audit_limit(size=len(kept), checked=0, wrong=0, delta=delta)  # refuses a delta that is none
    drawn = draw_audit(Subset(kept, "kept", {}, len(data)), n, rng=rng_for(seed, "audit"))
    note = {
        "format": FORMAT,
        "size": len(kept),
        "fingerprint": data.origin.fingerprint,
        "files": list(files),
        "seed": seed,
        "delta": delta,
        "drawn": [[str(data.ids[i]), data.names[data.labels[i]]] for i in drawn.tolist()],
    }
    return drawn, {**note, "seal": _seal(note)}


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
    """What was drawn, from the file itself or from the one beside it, if it is whole."""
    sealed, text = path, heading_after(path)
    if not text.startswith("{"):
        sealed = beside(path)
        if not sealed.is_file():
            raise InputError(
                f"{sealed} is not there, and it says what {path.name} was drawn from; keep the two "
                "side by side, or draw again with dris audit draw"
            )
        text = sealed.read_text(encoding="utf-8", errors="replace")
    try:
        note: dict[str, Any] = from_json(text)
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
