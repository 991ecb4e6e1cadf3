"""What a decision writes into a folder: the data, the issues or weights, the scores, the page."""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from dris.core.errors import InputError
from dris.core.files import make_folder
from dris.data.display import check_columns
from dris.data.formats import BY_NAME, suffix_for
from dris.data.labelled import LabelledData
from dris.data.outputs import write_data, write_ids
from dris.data.scorefile import ScoreFile, write_scores
from dris.data.writer import Writer
from dris.pipeline.decision import Decision, Weighting
from dris.pipeline.tables import kept_columns, score_file, write_issues
from dris.report_page.page import write_page

# What each verb can write, the default first.
FORMS = {
    "clean": ("data", "ids", "column"),
    "prune": ("data", "ids", "column"),
    "weights": ("csv", "parquet"),
}
PAGE, SCORES, RECIPE = "report.html", "scores.parquet", "recipe.json"


def output_names(
    data: LabelledData,
    verb: str,
    *,
    form: str | None = None,
    report: bool = True,
    scores: bool = False,
    columns: Sequence[str] = (),
) -> list[str]:
    """The files that `write_outputs` makes, so that they can be refused before anything trains.

    >>> import numpy as np
    >>> few = LabelledData.of(np.eye(2), [0, 1], classes=("cat", "dog"))
    >>> output_names(few, "clean"), output_names(few, "weights", form="parquet")
    (['cleaned.csv', 'issues.csv', 'report.html'], ['weights.parquet'])
    """
    form = _form(data, verb, form)
    check_columns(data, columns)
    if verb == "weights":
        return [f"weights.{form}"]
    suffix = ".csv" if form == "ids" else suffix_for(data)
    names = [f"cleaned{suffix}", "issues.csv"] if verb == "clean" else [f"kept{suffix}"]
    return [*names, *([SCORES, RECIPE] if scores else []), *([PAGE] if report else [])]


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

    All files appear together or not at all, and what dris did not write is never replaced.

    Args:
        decision: What `dris.clean`, `dris.prune` or `dris.weights` returned.
        folder: Made where it is not there.
        form: "data" (its own format), "ids" (a CSV of them), "column" (all rows, with a mark);
            for weights "csv" or "parquet". Data that was not read from a file gives ids.
        report: Write report.html, where there is something to show.
        scores: Write scores.parquet, every score and mark by id, and recipe.json, if proxies
            were trained.
        columns: Of the data, to show in issues.csv; ["all"] for every one.
        title: What the page calls the data.
        recipe: How to do it again, for the page and recipe.json.
        force: Replace what dris wrote there before.
        writer: Decides in place of `force`; one that holds its files back goes on doing so.

    >>> import tempfile
    >>> import dris
    >>> few = dris.read_data([[0.0], [1.0]], ["cat", "dog"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in dris.clean(few).write(folder)]
    ['cleaned.csv', 'issues.csv']
    """
    data, folder = decision.data, Path(folder)
    verb = "weights" if decision.weighting else "clean" if decision.keep is None else "prune"
    form = _form(data, verb, form)
    report = report and not (decision.ensemble is None and decision.suspects is None)
    scores = scores and decision.ensemble is not None
    names = output_names(data, verb, form=form, report=report, scores=scores, columns=columns)
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
                shown_columns = check_columns(data, columns)
                write_issues(decision, path, columns=shown_columns, writer=all_of_them)
            elif decision.weighting is not None:
                _write_weights(data, decision.weighting, path, all_of_them)
            else:
                _write_rows(decision, path, form, all_of_them)
    return list(paths.values())


def _form(data: LabelledData, verb: str, form: str | None) -> str:
    """The form that was asked for, or the usual one."""
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
