"""What a decision writes into a folder: the data, the issues or weights, the scores, the page."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from dris.core.errors import InputError
from dris.core.files import make_folder
from dris.core.sanitize import guard_cell, guard_text
from dris.data.formats import BY_NAME, suffix_for
from dris.data.labelled import LabelledData
from dris.data.outputs import (
    ScoreFile,
    check_columns,
    show_rows,
    show_unlabelled,
    write_data,
    write_ids,
    write_scores,
)
from dris.data.writer import Writer
from dris.pipeline.decision import Decision, Weighting
from dris.pipeline.ensemble import scores_of
from dris.pipeline.lists import annotator_lines, neighbour_lines, opinion_lines
from dris.pipeline.wording import MAX_P_SHOWN, REASONS, reasons
from dris.report_page.page import write_page

# What each verb can write, the default first.
FORMS = {
    "clean": ("data", "ids", "column"),
    "prune": ("data", "ids", "column"),
    "weights": ("csv", "parquet"),
}
PAGE, SCORES, RECIPE = "report.html", "scores.parquet", "recipe.json"
NEIGHBOURS = "neighbours.csv"  # written where there are any
PEOPLE = ("annotators.csv", "opinions.csv")
ABOUT = {
    NEIGHBOURS: "near-duplicates and outliers",
    "annotators.csv": "how good each annotator is",
    "opinions.csv": "rows to ask again",
    PAGE: "open this first",
    SCORES: "every score by id",
    RECIPE: "the settings",
    **dict.fromkeys(
        ("weights.csv", "weights.parquet"), "how often to draw each example, and its weight"
    ),
}


def output_names(
    data: LabelledData,
    verb: str,
    *,
    form: str | None = None,
    report: bool = True,
    scores: bool = False,
    columns: Sequence[str] = (),
) -> list[str]:
    """The files that `write_outputs` makes, so that they can be refused before anything trains."""
    form = _form(data, verb, form)
    check_columns(data, columns)
    if verb == "weights":
        return [f"weights.{form}"]
    suffix = ".csv" if form == "ids" else suffix_for(data)
    names = [f"cleaned{suffix}", "issues.csv"] if verb == "clean" else [f"kept{suffix}"]
    names += list(PEOPLE) if verb == "clean" and data.answers is not None else []
    return [*names, *([SCORES, RECIPE] if scores else []), *([PAGE] if report else [])]


def describe_file(name: str, decision: Decision, form: str | None = None) -> str:
    """What a file holds, in a few words."""
    kept, suspects = f"{decision.kept.size:,}", len(decision.suspects or ())
    if name == "issues.csv":
        aside = decision.data.unlabelled
        more = "" if aside is None else f", then {len(aside):,} rows without a label"
        if suspects < 2:
            return f"{suspects or 'no'} suspect{'' if suspects else 's'}{more}"
        return f"{suspects:,} suspects, most certain first{more}"
    if name in ABOUT:
        return ABOUT[name]
    if form == "column":
        return f"{len(decision):,} rows, {kept} marked as kept"
    return f"{kept} ids" if _form(decision.data, "clean", form) == "ids" else f"{kept} rows"


def write_outputs(
    decision: Decision,
    folder: str | Path,
    *,
    form: str | None = None,
    report: bool = True,
    scores: bool = False,
    columns: Sequence[str] = (),
    title: str = "",
    recipe: Mapping[str, Any] | None = None,
    force: bool = False,
    writer: Writer | None = None,
) -> list[Path]:
    """Write a decision: cleaned or kept data, issues.csv or weights.csv, and the page.

    All files appear together or not at all, and what dris did not write is never replaced. Beside
    what `Decision.write` explains, `title` is what the page calls the data, `recipe` how to do
    it again, and `writer` decides in place of `force`. Data of no file gives ids.
    """
    data, folder = decision.data, Path(folder)
    verb = "weights" if decision.weighting else "clean" if decision.keep is None else "prune"
    form = _form(data, verb, form)
    report = report and not (decision.ensemble is None and decision.suspects is None)
    scores = scores and decision.ensemble is not None
    names = output_names(data, verb, form=form, report=report, scores=scores, columns=columns)
    if verb == "clean" and (len(neighbour_lines(decision)) > 1 or (folder / NEIGHBOURS).exists()):
        names.append(NEIGHBOURS)
    paths = {name: folder / name for name in names}
    writer = (writer or Writer(force)).reading(*data.origin.files)
    writer.refuse(*paths.values())
    make_folder(folder)
    made = dict(decision.recipe() if recipe is None else recipe)
    alone = writer.held is None
    with writer.together() if alone else nullcontext(writer) as all_of_them:
        for name, path in paths.items():
            if name == PAGE:
                write_page(decision, path, title=title, recipe=made, writer=all_of_them)
            elif name == SCORES:
                write_scores(score_file(decision), path, writer=all_of_them)
            elif name == RECIPE:
                text = json.dumps(made, sort_keys=True, indent=1, allow_nan=False) + "\n"
                all_of_them.write(path, [text.encode()])
            elif name == "issues.csv":
                text = issues_text(decision, check_columns(data, columns))
                all_of_them.write(path, [text.encode("utf-8", "surrogatepass")])
            elif name in _LISTS:
                all_of_them.write(path, [csv_text(_LISTS[name](decision)).encode()])
            elif decision.weighting is not None:
                _write_weights(data, decision.weighting, path, all_of_them)
            else:
                _write_rows(decision, path, form, all_of_them)
    return list(paths.values())


_LISTS = {
    NEIGHBOURS: neighbour_lines,
    "annotators.csv": annotator_lines,
    "opinions.csv": opinion_lines,
}


def _form(data: LabelledData, verb: str, form: str | None) -> str:
    forms = FORMS[verb]
    if form is None:
        return "ids" if forms[0] == "data" and data.origin.format not in BY_NAME else forms[0]
    if form not in forms:
        raise InputError(f"`as` must be {', '.join(forms[:-1])} or {forms[-1]}, got {form!r}")
    return form


def _write_rows(decision: Decision, path: Path, form: str, writer: Writer) -> None:
    fixed = {} if decision.fixed is None else {"dris_fixed": decision.changed}
    if form == "ids":
        write_ids(decision.data, path, positions=decision.kept, columns=fixed, writer=writer)
        return
    marked = form == "column"
    write_data(
        decision.data,
        path,
        positions=None if marked else decision.kept,
        columns={**fixed, **(kept_columns(decision) if marked else {})} or None,
        labels=decision.fixed,
        writer=writer,
    )


def _write_weights(data: LabelledData, weighting: Weighting, path: Path, writer: Writer) -> None:
    columns = {"probability": weighting.probabilities, "weight": weighting.weights}
    if path.suffix == ".csv":
        write_ids(data, path, columns=columns, writer=writer)
    else:
        write_scores(ScoreFile(data.ids, columns), path, writer=writer)


COLUMNS = ("id", "given", "suggested", "p_wrong", "dropped", "reason")


def issues_text(decision: Decision, columns: Sequence[str] = ()) -> str:
    """Every suspect, a line each, most certain first; `columns` of the data beside.

    Behind them the rows that have no label, each with one to consider.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    suspects = decision.suspects
    at = np.zeros(0, dtype=np.int64) if suspects is None else suspects.positions
    shown = show_rows(decision.data, at, columns) if columns else {}
    headings = (f"{name} (data)" if name in COLUMNS else name for name in shown)
    writer.writerow([*COLUMNS, *map(guard_text, headings)])
    changed = decision.changed
    for place, one in enumerate(suspects or ()):
        cells = (str(one.id), one.given, one.suggested, f"{min(one.p_wrong, MAX_P_SHOWN):.4g}")
        dropped = "yes" if one.dropped else "fixed" if changed[at[place]] else "no"
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


def csv_text(lines: Sequence[Sequence[object]]) -> str:
    """Lines as CSV; text that a spreadsheet would run is guarded."""
    out = io.StringIO()
    csv.writer(out).writerows([guard_text(str(cell)) for cell in line] for line in lines)
    return out.getvalue()


def score_file(decision: Decision) -> ScoreFile:
    """Every score, mark and label that there is: what scores.parquet holds."""
    data, ensemble = decision.data, decision.ensemble
    if ensemble is None:
        raise InputError(f"there is nothing to score: {decision.notes[0]}")
    flags = {"canary": ensemble.planted, "trusted": data.trusted}
    flags |= {f"canary_{kind.kind}": kind.mask() for kind in ensemble.canaries}
    texts = {"given": data.written(), "reason": np.array(REASONS)[reasons(decision)]}
    flags["kept"] = decision.mask
    if "rival" in ensemble.dynamics.columns:
        texts["suggested"] = data.written(ensemble.assessment.suggested)
    scores = {**scores_of(ensemble.dynamics), "p_wrong": decision.p_wrong}
    note = {"fingerprint": data.origin.fingerprint, "seed": ensemble.settings.seed}
    return ScoreFile(data.ids, scores, flags, note, texts)


def kept_columns(decision: Decision) -> dict[str, Any]:
    """Whether each example is kept, and its score where the rule has one."""
    columns: dict[str, Any] = {"dris_kept": decision.mask}
    scores = {} if decision.ensemble is None else scores_of(decision.ensemble.dynamics)
    if decision.rule in scores:
        columns[f"dris_{decision.rule}"] = scores[decision.rule]
    return columns
