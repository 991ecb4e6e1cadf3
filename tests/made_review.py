"""A small review without training: labels of which some look wrong, and whom they were given."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np

from dris.data.labelled import LabelledData
from dris.data.reader import read_data
from dris.pipeline.decision import Decision
from dris.pipeline.lists import Suspects
from dris.review_app.journal import Journal
from dris.review_app.session import ReviewSession
from dris.review_app.worklist import worklist_of

NAMES = ("cat", "dog", "eel")


def made_decision(data=None, *, suspects=40, n=200, names=NAMES):
    """A decision whose first labels look wrong; every third of these should be the next class."""
    if data is None:
        labels = np.arange(n) % len(names)
        ids = [f"r{i}" for i in range(n)]
        data = LabelledData.of(np.arange(2.0 * n).reshape(n, 2), labels, classes=names, ids=ids)
    at = np.arange(suspects)
    given = data.labels[at]
    found = Suspects(
        positions=at,
        given=given,
        suggested=(given + 1) % len(data.names),
        p_wrong=np.linspace(1, 0.5, suspects),
        p_suggested=np.linspace(1, 0.5, suspects),
        against=np.where(at % 4, 3, 2),
        dropped=np.ones(suspects, dtype=bool),
        ids=data.ids[at],
        names=data.names,
        proxies=3,
    )
    p_wrong = np.full(len(data), 0.1)
    p_wrong[at] = found.p_wrong
    return Decision(data, np.arange(suspects, len(data)), p_wrong, found, "clean", None)


def made_table(folder, n=200, names=NAMES):
    """A file of n rows with an id, a text, a number and a label."""
    path = Path(folder, "animals.csv")
    lines = ["name,says,mass,kind"]
    lines += [f"r{i},word{i % 7} of row {i},{i / 4},{names[i % len(names)]}" for i in range(n)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def made_session(folder, *, suspects=40, sample=20, n=200):
    """A session over a table of that folder; the same again goes on where it was."""
    path = made_table(folder, n)
    data = read_data(path, label="kind", id="name", features=[])
    answers = Path(folder, "animals.review.jsonl")
    made = worklist_of(made_decision(data, suspects=suspects), sample=sample)
    likely = np.stack((made.suggested, data.labels[made.positions]), axis=1)
    chances = np.stack((made.p_wrong, 1 - made.p_wrong), axis=1)
    made = replace(made, likely=likely, probabilities=chances)
    return ReviewSession(data, Journal(answers, lambda: made))


def rows_of(path):
    """The rows of a CSV file, by column."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def fill_in(path, answers):
    """A person fills in a sheet: one answer for every row, or one for each."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    each = [answers] * len(rows) if isinstance(answers, str) else answers
    for row, answer in zip(rows, each, strict=True):
        row[3] = answer
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
