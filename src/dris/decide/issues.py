"""The labels to look at as a table for a spreadsheet, the most suspicious first."""

import csv
import io
from pathlib import Path

from dris.data.writer import Writer
from dris.decide.decision import Decision
from dris.decide.ticks import guarded

COLUMNS = ("id", "given", "suggested", "suspicion", "dropped", "reason")


def issues_text(decision: Decision) -> str:
    """Every suspect, dropped or only to be looked at, a line each."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for one in decision.suspects or ():
        cells = (str(one.id), one.given, one.suggested, f"{one.suspicion:.6g}")
        dropped = "yes" if one.dropped else "no"
        # A negative number is one, not a formula; names and labels may pretend.
        writer.writerow([*map(guarded, cells[:3]), cells[3], dropped, guarded(one.why)])
    return out.getvalue()


def write_issues(decision: Decision, path: Path, *, writer: Writer) -> Path:
    """Write them whole or not at all."""
    return writer.write(path, [issues_text(decision).encode()])
