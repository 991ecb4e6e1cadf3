"""The labels to look at as a table for a spreadsheet, the most suspicious first."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dris.core.sanitize import guarded, guarded_cell
from dris.data.display import show_rows, show_unlabelled
from dris.data.writer import Writer
from dris.pipeline.decision import Decision

COLUMNS = ("id", "given", "suggested", "suspicion", "dropped", "reason")


def issues_text(decision: Decision, columns: Sequence[str] = ()) -> str:
    """Every suspect, dropped or only to be looked at, a line each; `columns` of the data beside.

    Behind them the rows that have no label, each with one to consider.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    suspects = decision.suspects
    none = np.zeros(0, dtype=np.int64)
    shown: dict[str, list[str]] = {}
    if columns:
        at = none if suspects is None else suspects.positions
        shown = show_rows(decision.data, at, columns)
    writer.writerow([*COLUMNS, *(guarded(_apart(name)) for name in shown)])
    for place, one in enumerate(suspects or ()):
        cells = (str(one.id), one.given, one.suggested, f"{one.suspicion:.6g}")
        changed = suspects is not None and decision.changed[suspects.positions[place]]
        dropped = "yes" if one.dropped else "fixed" if changed else "no"
        # A negative number is one, not a formula; names and labels may pretend.
        own = [*map(guarded, cells[:3]), cells[3], dropped, guarded(one.why)]
        writer.writerow([*own, *(guarded_cell(cells[place]) for cells in shown.values())])
    aside = decision.unlabelled()
    beside = show_unlabelled(decision.data, columns) if columns else {}
    for place, (name, label) in enumerate(zip(aside["id"], aside["suggested"], strict=True)):
        why = "no label" + (f"; models trained on what is kept say {label}" if label else "")
        own = [guarded(str(name)), "", guarded(label), "", "yes", guarded(why)]
        writer.writerow([*own, *(guarded_cell(beside[column][place]) for column in shown)])
    return out.getvalue()


def write_issues(
    decision: Decision, path: Path, *, columns: Sequence[str] = (), writer: Writer
) -> Path:
    """Write them whole or not at all."""
    text = issues_text(decision, columns)
    return writer.write(path, [text.encode("utf-8", "surrogatepass")])


def _apart(name: str) -> str:
    """A column of the data under another heading than ours."""
    return f"{name} (data)" if name in COLUMNS else name
