"""Ten files as people have them, each with a tenth of its labels wrong.

    python examples/realistic_files.py FOLDER

writes them, and says for each how it is read: no option but the label. The data are made, so that
the truth is known; what makes them realistic is how they are written: ids, dates, cities, prices
with currency signs, gaps, several languages, packed and oddly separated files. What is hidden in
them is found by `benchmarks/real_files.py`.
"""

import csv
import gzip
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image

ROWS = 1500


@dataclass(frozen=True)
class Made:
    """A file, its label column (None: the column called label), and which labels are wrong."""

    name: str
    path: Path
    label: str | None
    wrong: NDArray[np.bool_]


TOPICS = {
    "billing": "invoice charge refund payment card price paid twice bill amount subscription tax",
    "technical": "error crash screen update install login slow bug server page browser version",
    "shipping": "parcel courier tracking delivery address late box driver lost warehouse label",
    "account": "password email profile username settings delete change name verify phone locked",
}
GOODS = {
    "kitchen": "steel pan oven knife ceramic plate non-stick handle dishwasher bowl lid kettle",
    "garden": "hose soil seeds pruning outdoor lawn spade plant pots rust wood bench watering",
    "office": "paper desk pen notebook stapler ink chair monitor cable folder lamp ergonomic",
    "toys": "puzzle wooden blocks doll cars colourful children game dice soft train robot",
}
MOODS = {
    "en": ("great lovely perfect happy recommend excellent", "bad broken awful poor refund never"),
    "de": (
        "toll wunderbar perfekt zufrieden gerne empfehle",
        "schlecht kaputt nie enttäuscht mies",
    ),
    "fr": ("superbe parfait ravi excellent adoré bravo", "mauvais cassé déçu jamais nul horrible"),
    "ru": ("отлично прекрасно доволен советую супер", "плохо ужасно сломан никогда разочарован"),
    "zh": ("很好 喜欢 满意 推荐 完美 质量好", "很差 坏了 失望 退货 不推荐 糟糕"),
}
FILLER = "the a i my it was with and for please we this about since again today very one have"
LIKERT = ("strongly disagree", "disagree", "neither", "agree", "strongly agree")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for made in write_all(folder):
        option = f" --label {made.label}" if made.label else ""
        print(f"dris clean {made.path}{option}    # {int(made.wrong.sum())} labels are wrong")


def write_all(folder: Path, rows: int = ROWS, seed: int = 0) -> list[Made]:
    """Write the ten files, and say what is wrong in each."""
    folder.mkdir(parents=True, exist_ok=True)
    makers = (
        *(tickets, churn, products, sensors, survey, reviews),
        *(photos, embeddings, meters, questions),
    )
    return [make(folder, rows, np.random.default_rng([seed, i])) for i, make in enumerate(makers)]


def tickets(folder: Path, n: int, rng: np.random.Generator) -> Made:
    """Support tickets: id, time, channel, text, team."""
    y, given, wrong = labelled(rng, n, list(TOPICS))
    rows = [
        (f"T-{90_000 + i}", when(rng), rng.choice(["mail", "phone", "chat"]), text)
        for i, text in enumerate(spoken(rng, y, TOPICS))
    ]
    path = folder / "tickets.csv"
    lines(path, ("ticket", "created", "channel", "text", "team"), rows, given)
    return Made("tickets", path, "team", wrong)


def churn(folder: Path, n: int, rng: np.random.Generator) -> Made:
    """Customers: ids, two kinds of dates, 150 cities, money, gaps."""
    y, given, wrong = labelled(rng, n, ["no", "yes"], [0.7, 0.3])
    left = y == "yes"
    cities = np.array([f"{a}{b}" for a in CITY_HEADS for b in ("ton", "field", "ville", " Bay")])
    share = 1 / np.arange(1, len(cities) + 1)
    rows = []
    for i in range(n):
        calls = rng.poisson(4 if left[i] else 1)
        charge = rng.normal(78 if left[i] else 48, 14)
        seen = rng.integers(20, 28) if left[i] else rng.integers(1, 28)
        rows.append(
            (
                i + 40_001,
                f"20{rng.integers(15, 24)}-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}",
                rng.choice(cities, p=share / share.sum()),
                rng.choice(["basic", "plus", "pro"], p=[0.6, 0.3, 0.1] if left[i] else None),
                f"${max(charge, 5):,.2f}",
                "no" if rng.random() < (0.8 if left[i] else 0.3) else "yes",
                "" if rng.random() < 0.1 else calls,
                f"{seen:02}/{rng.integers(1, 7) if left[i] else rng.integers(6, 13):02}/2024",
                "UK",
            )
        )
    path = folder / "churn.csv"
    header = ("customer_id", "signup", "city", "plan", "monthly", "autopay", "calls", "last_login")
    lines(path, (*header, "country", "churned"), rows, given)
    return Made("churn", path, "churned", wrong)


def products(folder: Path, n: int, rng: np.random.Generator) -> Made:
    """A catalogue: stock numbers, titles, descriptions, prices and discounts, tabs between."""
    y, given, wrong = labelled(rng, n, list(GOODS))
    base = dict(zip(GOODS, (40, 60, 90, 25), strict=True))
    rows = []
    for i, text in enumerate(spoken(rng, y, GOODS, words=14)):
        price = f"{rng.lognormal(np.log(base[y[i]]), 0.5):,.2f}"
        euros = price.replace(",", " ").replace(".", ",")
        title = " ".join(rng.choice(GOODS[y[i]].split(), 2)).title()
        rows.append((f"SKU{i:06}", title, text, f"{euros} €", f"{rng.integers(0, 40)} %"))
    path = folder / "products.tsv"
    header = ("sku", "title", "description", "price", "discount", "category")
    lines(path, header, rows, given, separator="\t")
    return Made("products", path, "category", wrong)


def sensors(folder: Path, n: int, rng: np.random.Generator) -> Made:
    """Eight sensors with gaps, a machine, a time, a column that never changes: Parquet."""
    y, given, wrong = labelled(rng, n, ["idle", "running", "worn"])
    kind = np.unique(y, return_inverse=True)[1]
    centre = rng.normal(size=(3, 8)) * 1.4
    values = centre[kind] + rng.normal(size=(n, 8))
    values[rng.random((n, 8)) < 0.08] = np.nan
    start = np.datetime64("2024-05-01T00:00", "us")
    columns = {f"sensor_{i}": pa.array(values[:, i], from_pandas=True) for i in range(8)}
    table = pa.table(
        {
            "time": pa.array(start + np.arange(n) * np.timedelta64(7, "m")),
            "machine": pa.array([f"M{i}" for i in rng.integers(1, 9, n)]).dictionary_encode(),
            "firmware": ["4.2.1"] * n,
            **columns,
            "state": given,
        }
    )
    path = folder / "sensors.parquet"
    pq.write_table(table, path)
    return Made("sensors", path, "state", wrong)


def survey(folder: Path, n: int, rng: np.random.Generator) -> Made:
    """Ten answers from strongly disagree to strongly agree, some skipped, and a comment or none."""
    y, given, wrong = labelled(rng, n, ["loyal", "passive", "critic"])
    kind = np.unique(y, return_inverse=True)[1]
    leaning = rng.normal(size=(3, 10)) * 1.3 + 2
    rows = []
    for i in range(n):
        marks = np.clip(np.round(leaning[kind[i]] + rng.normal(size=10)), 0, 4).astype(int)
        answers = ["" if rng.random() < 0.05 else LIKERT[m] for m in marks]
        comment = "" if rng.random() < 0.8 else "no further remarks from me"
        rows.append((f"r{i:04x}", rng.choice(["18-29", "30-49", "50+"]), *answers, comment))
    path = folder / "survey.csv"
    header = ("respondent", "age", *(f"q{i}" for i in range(1, 11)), "comment", "segment")
    lines(path, header, rows, given)
    return Made("survey", path, "segment", wrong)


def reviews(folder: Path, n: int, rng: np.random.Generator) -> Made:
    """Reviews in five languages, one of them without spaces: JSON lines."""
    y, given, wrong = labelled(rng, n, ["negative", "positive"])
    path = folder / "reviews.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for i in range(n):
            language = str(rng.choice(list(MOODS)))
            good, bad = (words.split() for words in MOODS[language])
            own, other = (good, bad) if y[i] == "positive" else (bad, good)
            words = [*rng.choice(own, 4), *rng.choice(other, 1), f"{rng.integers(1, 99)}"]
            rng.shuffle(words)
            text = ("" if language == "zh" else " ").join(words)
            record = {"review": text, "stars_of_shop": int(rng.integers(1, 6)), "mood": given[i]}
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    return Made("reviews", path, "mood", wrong)


def photos(folder: Path, n: int, rng: np.random.Generator) -> Made:
    """Pictures in a folder, and a CSV beside them with their labels and what the camera said."""
    n //= 3
    y, given, wrong = labelled(rng, n, ["circle", "stripes", "square"])
    root = folder / "photos"
    (root / "files").mkdir(parents=True, exist_ok=True)
    rows = []
    for i in range(n):
        Image.fromarray(picture(str(y[i]), rng)).save(root / "files" / f"{i:04}.png")
        rows.append((f"files/{i:04}.png", rng.choice(["X100", "D850"]), when(rng)))
    lines(root / "metadata.csv", ("file_name", "camera", "taken", "shape"), rows, given)
    return Made("photos", root, "shape", wrong)


def embeddings(folder: Path, n: int, rng: np.random.Generator) -> Made:
    """Vectors that a model gave, the text they are of, and an id: Parquet."""
    y, given, wrong = labelled(rng, n, list(TOPICS))
    kind = np.unique(y, return_inverse=True)[1]
    vectors = rng.normal(size=(4, 32))[kind] * 0.5 + rng.normal(size=(n, 32))
    flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.astype(np.float32).ravel()), 32)
    table = pa.table(
        {
            "id": [f"doc-{i}" for i in range(n)],
            "text": spoken(rng, y, TOPICS, words=8),
            "embedding": flat,
            "label": given,
        }
    )
    path = folder / "embeddings.parquet"
    pq.write_table(table, path)
    return Made("embeddings", path, None, wrong)


def meters(folder: Path, n: int, rng: np.random.Generator) -> Made:
    """Meter readings as a German spreadsheet saves them: semicolons, decimal commas, packed."""
    y, given, wrong = labelled(rng, n, ["Büro", "Haushalt", "Werkstatt"])
    kind = np.unique(y, return_inverse=True)[1]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";")
    writer.writerow(("Zähler", "Ablesung", "Verbrauch", "Spitze", "Anteil nachts", "Art"))
    for i in range(n):
        use = rng.lognormal(np.log((3000, 900, 9000)[kind[i]]), 0.35)
        peak = rng.normal((12, 4, 30)[kind[i]], 3)
        night = np.clip(rng.normal((0.15, 0.35, 0.2)[kind[i]], 0.08), 0, 1)
        cells = [f"{use:,.1f}", f"{peak:.2f}", f"{100 * night:.1f} %"]
        german = [c.replace(",", "_").replace(".", ",").replace("_", ".") for c in cells]
        day = f"{rng.integers(1, 29):02}.{rng.integers(1, 13):02}.2023"
        writer.writerow((f"DE{i:07}", day, *german, given[i]))
    path = folder / "meters.csv.gz"
    path.write_bytes(gzip.compress("\ufeff".encode() + out.getvalue().encode(), mtime=0))
    return Made("meters", path, "Art", wrong)


def questions(folder: Path, n: int, rng: np.random.Generator) -> Made:
    """A data set as Hugging Face's save_to_disk leaves it: text, and numbers with names."""
    names = list(TOPICS)
    y, given, wrong = labelled(rng, n, names)
    table = pa.table(
        {
            "text": spoken(rng, y, TOPICS, words=9),
            "label": [names.index(str(one)) for one in given],
        }
    )
    root = folder / "questions"
    root.mkdir(exist_ok=True)
    with pa.ipc.new_stream(str(root / "data-00000-of-00001.arrow"), table.schema) as writer:
        writer.write_table(table)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_fingerprint": "made"}
    about = {"features": {"label": {"names": names, "_type": "ClassLabel"}}}
    (root / "state.json").write_text(json.dumps(state), encoding="utf-8")
    (root / "dataset_info.json").write_text(json.dumps(about), encoding="utf-8")
    return Made("questions", root, None, wrong)


CITY_HEADS = (
    *("Ash", "Bex", "Carl", "Dun", "Elm", "Far", "Glen", "Hart", "Ire", "Jar", "Kil", "Lan"),
    *("Mar", "Nor", "Oak", "Pen", "Quin", "Rad", "Shel", "Thorn", "Upper", "Ver", "Wel", "Yar"),
    *("Bright", "Cold", "Deep", "East", "Fair", "Green", "High", "Iron", "Long", "Mill", "New"),
)


def labelled(
    rng: np.random.Generator, n: int, classes: Sequence[str], share: Sequence[float] | None = None
) -> tuple[NDArray[np.str_], list[str], NDArray[np.bool_]]:
    """True labels, given ones of which a tenth are wrong, and which those are."""
    true = rng.choice(len(classes), n, p=share)
    wrong = rng.random(n) < 0.1
    given = np.where(wrong, (true + rng.integers(1, len(classes), n)) % len(classes), true)
    names = np.array(classes)
    return names[true], [str(v) for v in names[given]], wrong


def spoken(
    rng: np.random.Generator, y: NDArray[np.str_], topics: dict[str, str], words: int = 11
) -> list[str]:
    """Sentences: words of the topic, a few of any other, and those that mean nothing."""
    every = " ".join(topics.values()).split()
    filler = FILLER.split()
    texts = []
    for one in y:
        own = rng.choice(topics[str(one)].split(), max(2, words // 4))
        some = [*own, *rng.choice(every, words // 5), *rng.choice(filler, words // 2)]
        rng.shuffle(some)
        texts.append(" ".join(some).capitalize() + str(rng.choice([".", "!", "?", ""])))
    return texts


def when(rng: np.random.Generator) -> str:
    """A time of the year 2024, as ISO writes it."""
    day = f"2024-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}"
    return f"{day} {rng.integers(0, 24):02}:{rng.integers(0, 60):02}:{rng.integers(0, 60):02}"


def picture(shape: str, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A shape somewhere in 24 by 24 grey pixels."""
    y, x = np.mgrid[:24, :24]
    cy, cx = rng.integers(9, 15, 2)
    inside = {
        "circle": (y - cy) ** 2 + (x - cx) ** 2 < 49,
        "square": (abs(y - cy) < 6) & (abs(x - cx) < 6),
        "stripes": (y + cy) % 6 < 3,
    }[shape]
    return np.clip(inside * 130 + 60 + rng.normal(0, 28, (24, 24)), 0, 255).astype(np.uint8)


def lines(
    path: Path,
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    labels: Sequence[str],
    separator: str = ",",
) -> None:
    """A table with the labels in its last column."""
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, delimiter=separator)
        writer.writerow(header)
        writer.writerows((*row, label) for row, label in zip(rows, labels, strict=True))


if __name__ == "__main__":
    main()
