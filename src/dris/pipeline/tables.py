"""A decision as tables: the labels to look at, and what it says of every example."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dris.core.errors import InputError
from dris.core.sanitize import guard_cell, guard_text
from dris.data.display import show_rows, show_unlabelled
from dris.data.scorefile import ScoreFile
from dris.data.writer import Writer
from dris.pipeline.decision import Decision
from dris.pipeline.ensemble import scores_of

COLUMNS = ("id", "given", "suggested", "suspicion", "dropped", "reason")


def issues_text(decision: Decision, columns: Sequence[str] = ()) -> str:
    """Every suspect, a line each, the most suspicious first; `columns` of the data beside.

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
    writer.writerow([*COLUMNS, *(guard_text(_apart(name)) for name in shown)])
    for place, one in enumerate(suspects or ()):
        cells = (str(one.id), one.given, one.suggested, f"{one.suspicion:.6g}")
        changed = suspects is not None and decision.changed[suspects.positions[place]]
        dropped = "yes" if one.dropped else "fixed" if changed else "no"
        # A negative number is one, not a formula; names and labels may pretend.
        own = [*map(guard_text, cells[:3]), cells[3], dropped, guard_text(one.why)]
        writer.writerow([*own, *(guard_cell(cells[place]) for cells in shown.values())])
    aside = decision.unlabelled()
    beside = show_unlabelled(decision.data, columns) if columns else {}
    for place, (name, label) in enumerate(zip(aside["id"], aside["suggested"], strict=True)):
        why = "no label" + (f"; models trained on what is kept say {label}" if label else "")
        own = [guard_text(str(name)), "", guard_text(label), "", "yes", guard_text(why)]
        writer.writerow([*own, *(guard_cell(beside[column][place]) for column in shown)])
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


def score_file(decision: Decision) -> ScoreFile:
    """Every score, mark and label that there is: what scores.parquet holds."""
    data, ensemble = decision.data, decision.ensemble
    if ensemble is None:
        raise InputError(f"there is nothing to score: {decision.notes[0]}")
    flags = {"canary": ensemble.planted, "trusted": data.trusted}
    flags |= {f"canary_{kind.kind}": kind.mask() for kind in ensemble.canaries}
    texts = {"given": data.written()}
    if "rival" in ensemble.dynamics.columns:
        texts["suggested"] = data.written(ensemble.assessment.suggested)
    scores = {**scores_of(ensemble.dynamics), "suspicion": decision.suspicion}
    note = {"fingerprint": data.origin.fingerprint, "seed": ensemble.settings.seed}
    return ScoreFile(data.ids, scores, flags, note, texts)


def kept_columns(decision: Decision) -> dict[str, Any]:
    """Whether each example is kept, and its score where the rule has one."""
    columns: dict[str, Any] = {"dris_kept": decision.mask}
    scores = {} if decision.ensemble is None else scores_of(decision.ensemble.dynamics)
    if decision.rule in scores:
        columns[f"dris_{decision.rule}"] = scores[decision.rule]
    return columns
