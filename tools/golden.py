"""What people read, one file per door: `make golden` writes tests/golden again, to be read.

    python tools/golden.py            # write them
    python tools/golden.py --check    # name those that differ

Words must match; numbers may differ by a tenth or three units, as in tools/follow.py, since BLAS
builds differ in the last bits.
"""

import contextlib
import csv
import html
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
from sklearn.datasets import load_breast_cancer

from follow import alike

_SECONDS = re.compile(r"\d+\.\d s\b")  # as long as it takes
_NUMBER = re.compile(r"\d[\d.,]*(?<![.,])")
GOLDEN = Path(__file__).parents[1] / "tests" / "golden"
COMMANDS = (
    "clean",
    "check",
    "prune",
    "weights",
    "review",
    "audit",
    "corrupt",
    "rank",
    "certify",
    "rules",
)
COLUMNS = ("--label", "kind", "--id", "row")
DATA = ("tumours.csv", *COLUMNS, "--workers", "1", "--store", "store")
# The other data sets, each for another outcome of `clean`.
OTHERS = ("as_measured", "few", "unsuited", "natural")
HARM = {"malignant": -2.1, "benign": -4.0}  # points, where cleaning is said to harm
MISTAKES: tuple[tuple[str, ...], ...] = (
    ("tumours.csv",),
    ("clean", "tumors.csv"),
    ("clean", "tumours.csv"),
    ("clean", "tumours.csv", "--label", "kimd"),
    ("clean", "tumours.csv", "--label", "kind", "--id", "f0"),
    ("clean", "tumours.csv", "--label", "f1"),
    ("prune", "tumours.csv", "--label", "kind"),
    ("prune", "tumours.csv", "--label", "kind", "--keep", "25"),
    ("prune", "tumours.csv", "--label", "kind", "--keep", "0.25", "--rule", "amu"),
    ("clean", "tumours.csv", "--label", "kind", "--proxies", "1", "--folds", "1"),
    ("clean", "ragged.csv", "--label", "kind"),
    ("clean", "tumours.csv", "--label", "kind", "--out", "foreign"),
    ("weights", "tumours.csv", "--label", "kind", "--smoothing", "-1"),
)


def write_data(folder: Path) -> None:
    """569 tumours of which a tenth have the other label, the other data sets, and what is refused.

    `as_measured` has every label as it was, `few` its first 40 rows, `unsuited` labels that are
    drawn by lot, `natural` wrong ones where the two kinds look alike.
    """
    x, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    wrong = rng.random(len(y)) < 0.1
    _write_table(folder / "tumours.csv", x, np.where(wrong, 1 - y, y))
    _write_table(folder / "as_measured.csv", x, y)
    _write_table(folder / "few.csv", x[:40], y[:40])
    _write_table(folder / "unsuited.csv", x, rng.permutation(y))
    size = np.log(x[:, 3])  # the area: large tumours are mostly malignant
    alike = np.argsort(np.abs(size - np.median(size)), kind="stable")[:120]
    mistaken = np.isin(np.arange(len(y)), rng.permutation(alike)[:60])
    _write_table(folder / "natural.csv", x, np.where(mistaken, 1 - y, y))
    (folder / "ragged.csv").write_text("a,kind\n1,x\n2\n", encoding="utf-8")
    (folder / "foreign").mkdir()
    (folder / "foreign" / "cleaned.csv").write_text("mine\n", encoding="utf-8")


def _write_table(path: Path, x: np.ndarray, y: np.ndarray) -> None:
    """The tumours as a table: a row's name, 30 numbers, its kind."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["row", *(f"f{k}" for k in range(x.shape[1])), "kind"])
        rows = zip(x.tolist(), np.array(["malignant", "benign"])[y], strict=True)
        out.writerows([f"r{i}", *row, name] for i, (row, name) in enumerate(rows))


def run_command(*words: str) -> str:
    """What a command prints, both streams, and how it ended."""
    from dris.cli import main

    out, words_typed = io.StringIO(), ["dris", *words]
    with (
        mock.patch.object(sys, "argv", words_typed),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
    ):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
    shown = " ".join(words)
    return f"$ dris {shown}\n{out.getvalue().rstrip()}\n[exit {code}]\n"


def show_python() -> str:
    """What Python prints of a decision."""
    import dris

    decision = dris.clean("tumours.csv", label="kind", id="row", workers=1, store="store")
    first = next(iter(decision.suspects))
    return f">>> decision\n{decision!r}\n>>> print(decision)\n{decision}\n>>> suspect\n{first}\n"


def show_harm() -> str:
    """What `clean` prints where the harm check finds that models lose by it."""
    from dris.pipeline import route
    from dris.pipeline.harm import Change, Harm

    harm = Harm(Change(-3.1, 0.8), {}, HARM, 569, 0.5, other_classes={}, over_random=None)
    with mock.patch.object(route, "measure_harm", return_value=harm):
        return run_command("clean", *DATA, "--out", "harmful")


def show_page() -> str:
    """The visible words of the page, each line once and its numbers as #: others test those."""
    page = Path("out/report.html").read_text(encoding="utf-8")
    body = re.sub(r"<(script|style|svg)\b.*?</\1>", "", page, flags=re.S)
    lines = (html.unescape(" ".join(part.split())) for part in re.split(r"<[^>]*>", body))
    return "\n".join(dict.fromkeys(_NUMBER.sub("#", line) for line in lines if line)) + "\n"


def says(door: str, text: str, kept: str) -> bool:
    """Whether a door says what its golden file says; a page may have its lines in another order."""
    if door == "page":
        return set(text.splitlines()) == set(kept.splitlines())
    return alike(text, kept)


DOORS: dict[str, Callable[[], str]] = {
    "clean": lambda: run_command("clean", *DATA, "--out", "out"),
    "clean_verbose": lambda: run_command("clean", *DATA, "--out", "again", "--verbose"),
    "clean_json": lambda: run_command("clean", *DATA, "--out", "json", "--json"),
    "clean_quiet": lambda: run_command("clean", *DATA, "--out", "quiet", "--quiet"),
    **{
        name: lambda name=name: run_command(
            *("clean", f"{name}.csv", *COLUMNS, "--workers", "1", "--out", f"{name}-out")
        )
        for name in OTHERS
    },
    "harmful": show_harm,
    "fix": lambda: run_command("clean", *DATA, "--out", "fixed", "--fix"),
    "check": lambda: run_command("check", *DATA, "--max-noise", "5%"),
    "prune": lambda: run_command("prune", *DATA, "--out", "pruned", "--keep", "0.25"),
    "weights": lambda: run_command("weights", *DATA, "--out", "weighted"),
    "audit": lambda: run_command(
        *("audit", "draw", "tumours.csv", "--label", "kind", "--id", "row"),
        *("--n", "20", "--out", "audit.csv"),
    ),
    "corrupt": lambda: run_command(
        "corrupt", "tumours.csv", *COLUMNS, "--rate", "0.1", "--out", "noisy.csv"
    ),
    "certify": lambda: run_command("certify"),
    "rules": lambda: run_command("rules"),
    "python": show_python,
    "page": show_page,
    "help": lambda: "\n".join(
        run_command(*words)
        for words in (
            ("--help",),
            *((name, "--help") for name in COMMANDS),
            ("prune", "--help", "--verbose"),
        )
    ),
    "mistakes": lambda: "\n".join(run_command(*words) for words in MISTAKES),
}


def show_doors() -> Iterator[tuple[str, str]]:
    """Each door's name and what it shows, in an empty folder with the same data."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_data(Path(folder))
        with mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
            for name, show in DOORS.items():
                yield name, _SECONDS.sub("... s", show().replace(folder, "FOLDER"))


def main() -> int:
    """Write the golden files, or name those that differ."""
    check, differ = "--check" in sys.argv[1:], []
    for name, text in show_doors():
        path = GOLDEN / f"{name}.txt"
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not says(name, text, path.read_text(encoding="utf-8")):
            differ.append(name)
    print("\n".join(differ) if differ else "golden files are as they should be")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
