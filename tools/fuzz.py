"""Does any input make a command crash, hang, lie to the terminal or touch a foreign file?

`make fuzz` makes small valid inputs of every kind, damages them (bytes, cells, numbers, names, what
a file is), gives them to every command and every reader, each call in a process of its own under a
time limit, and looks at what came of it:

    the exit code is 0 to 3, never 70; no traceback; no signal
    an error is one line that begins "dris: "
    nothing that a terminal acts on is printed, and no line that the input began
    every file that was there before has the same bytes

    python tools/fuzz.py                    # 10,000 calls, some minutes of one core
    python tools/fuzz.py --calls 500 --seed 7
    python tools/fuzz.py --from 6500 --seconds 100   # a part of a run; --world FOLDER spares time
    python tools/fuzz.py --case 12 1234     # some of them again, with what they printed
    python tools/fuzz.py --csv 40000        # random CSV files beside Python's csv
"""

import argparse
import asyncio
import contextlib
import gc
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # a fork has no threads but its own
    os.environ.setdefault(_name, "1")
ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
LIMIT = 60.0  # seconds of a call
MEMORY = 6 << 30  # bytes of address space, so that nothing is asked of the whole machine
BATCH = 40  # calls of one fork
END = float("inf")  # no call begins after it, on time.monotonic's clock
MARK = "EVIL"  # a line that begins so was begun by the input
HOSTILE = (
    f"\x1b[31m{MARK}\x1b[0m",
    f"a\n{MARK} b",
    f"a\r\n{MARK}",
    f"\x9b2J{MARK}",
    "[bold red]x[/] [/]",
    f"\u202e{MARK}",
    "\x00",
    "=cmd|'/C calc'!A0",
    "@SUM(1)",
    "-1",
    "",
    " ",
    "nan",
    "1e999",
    "9" * 400,
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "/dev/zero",
    "ä" * 300,
    "\ud800",
    "%s%n{0}",
    ":smile:",
    "a,b\tc;d",
    '"',
    "[" * 3000,
)
NUMBERS = ("0", "-1", "1", "2", "0.5", "1.5", "nan", "inf", "1e308", "1e-308", "x", "", "999999999")
QUICK = "--epochs 1 --proxies 2 --model sgd_log --workers 1"
PLAIN = f"{QUICK} --canaries none --skip-harm-check"
COLUMNS = "--label kind --id name"
REVIEW = f"review data.csv {COLUMNS} --answers answers.jsonl --reviewer ana --out o"
SHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True)
class Call:
    """A command line, and the inputs that are damaged before it is run."""

    words: str
    inputs: tuple[str, ...]


# Every command; the files and folders are those of `made_world`.
CALLS = (
    *(
        Call(f"{command} {data} {more}", (data.split()[0],))
        for data, more in (
            ("data.csv", COLUMNS),
            ("data.tsv", COLUMNS),
            ("data.csv.gz", COLUMNS),
            ("data.zip", COLUMNS),
            ("data.parquet", COLUMNS),
            ("data.jsonl", COLUMNS),
            ("data.xlsx", COLUMNS),
            ("data.npz", "--label kind"),
            ("x.npy", "--label y.npy"),
            ("photos", ""),
            ("photos/list.csv", "--label kind"),
            ("saved", "--label y --id id"),
            ("words.csv", "--label kind"),
            ("dates.csv", "--label kind"),
            ("blanks.csv", "--label kind"),
        )
        for command in (
            "audit draw --n 3 --out o/a.csv",
            f"clean {PLAIN} --no-report --scores --out o",
        )
    ),
    Call(f"clean data.csv {COLUMNS} {QUICK} --out o", ("data.csv",)),
    Call(f"prune data.csv {COLUMNS} {QUICK} --keep 0.5 --out o", ("data.csv",)),
    Call(
        f"prune data.csv {COLUMNS} {PLAIN} --rule loss --keep 0.5 --as ids --out o", ("data.csv",)
    ),
    Call(f"weights data.csv {COLUMNS} {PLAIN} --out o", ("data.csv",)),
    Call(f"clean data.csv {COLUMNS} {QUICK} --verbose --json --out o", ("data.csv",)),
    Call(f"prune data.csv {COLUMNS} {PLAIN} --rule loss --keep 0.5 --out o", ("data.csv",)),
    Call(
        f"clean data.csv {COLUMNS} --from dynamics.dris --skip-harm-check --out o",
        ("dynamics.dris",),
    ),
    *(
        Call(f"clean data.csv {COLUMNS} --from {name} --skip-harm-check --out o", (name,))
        for name in (
            *("likely.csv", "likely.npy", "likely.parquet"),
            *("losses.npy", "losses.npz", "losses.csv", "cartography"),
        )
    ),
    Call("clean --config recipe.toml --out o", ("recipe.toml",)),
    Call("audit draw --config recipe.toml --n 3 --out o/a.csv", ("recipe.toml",)),
    Call(f"{REVIEW} --no-open", ("answers.jsonl",)),
    Call(f"{REVIEW} --no-open", ("data.csv",)),
    Call(f"{REVIEW} --no-open --answers o.jsonl --proxies 2 --epochs 1 --workers 1", ("data.csv",)),
    *(
        Call(f"{REVIEW} --as {kind} --{way} {answers}", damaged_)
        for kind, answers in (
            ("label-studio", "label-studio.json"),
            ("argilla", "argilla.json"),
            ("csv", "answers.csv"),
        )
        for way, damaged_ in (("import", (answers,)), ("export o.x --import", ("answers.jsonl",)))
    ),
    Call(f"corrupt data.csv {COLUMNS} --out o/n.csv", ("data.csv",)),
    Call(f"corrupt data.csv {COLUMNS} --kind transition --matrix m.csv --out o/n.csv", ("m.csv",)),
    Call(f"clean data.csv {COLUMNS} {QUICK} --canaries matrix --matrix m.csv --out o", ("m.csv",)),
    Call("audit read audit.csv", ("audit.csv",)),
    Call("audit read audit.csv", ("audit.json",)),
    Call(f"{REVIEW} --import review.csv", ("review.csv",)),
    Call("rank losses --workers 1 --keep 0.5 --out o", ("losses",)),
    Call("rank losses --workers 1 --exact --out o", ("losses",)),
    Call("rank losses --workers 1 --keep 0.5 --out ranked", ("ranked",)),
    Call("runs --store runs", ("runs",)),
    Call("runs --store runs --clean --unfinished", ("runs",)),
    Call(f"clean data.csv {COLUMNS} {QUICK} --store runs --out o", ("runs",)),
    Call(f"check data.csv {COLUMNS} {QUICK} --max-noise 5%", ("data.csv",)),
    Call("certify --n 100", ()),
    Call("rules", ()),
)


WARM = (
    *("rules", "runs --store runs", "certify --n 100", "rules x", "data.csv", "dta.csv"),
    f"clean data.csv {COLUMNS} {QUICK} --out o",
    f"audit draw data.xlsx {COLUMNS} --n 3 --out o/a.csv",
    f"clean photos {PLAIN} --out o",
    f"clean data.csv {COLUMNS} --model nothing --out o",  # which asks torch for its names
    f"clean words.csv --label kind {PLAIN} --out o",
    f"corrupt data.csv {COLUMNS} --kind targeted --out o/n.csv",
    "rank losses --workers 1 --keep 0.5 --out o",
    f"{REVIEW} --no-open",
)


# -- a world of valid inputs ---------------------------------------------------------------------


def made_world(root: Path, *, outputs: bool = True) -> Path:
    """Small valid inputs of every kind, and outputs of dris itself where they are asked for."""
    import gzip
    import zipfile

    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    from dris.core.dynamics.dynamics import Dynamics
    from made_shards import losses_of, write_shards
    from made_tables import image_folder, saved_dataset, table

    rng = np.random.default_rng(0)
    n = 60
    rows = {
        "name": [f"r{i}" for i in range(n)],
        "height": (rng.normal(size=n) + 4 * (np.arange(n) % 2)).round(3),
        "colour": ["red", "blue", "green"] * 20,
        "kind": ["dog" if i % 2 else "cat" for i in range(n)],
    }
    frame = pa.table({name: pa.array(values) for name, values in rows.items()})
    lines = [",".join(rows), *(",".join(map(str, row)) for row in zip(*rows.values(), strict=True))]
    text = "\n".join(lines) + "\n"
    root.joinpath("data.csv").write_text(text, encoding="utf-8")
    root.joinpath("data.tsv").write_text(text.replace(",", "\t"), encoding="utf-8")
    root.joinpath("data.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    with zipfile.ZipFile(root / "data.zip", "w") as archive:
        archive.writestr("data.csv", text)
    pq.write_table(frame, root / "data.parquet")
    plain = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    root.joinpath("data.jsonl").write_text(
        "".join(json.dumps(r, default=float) + "\n" for r in plain), encoding="utf-8"
    )
    _write_sheet(root / "data.xlsx", lines)
    label = np.array(rows["kind"])
    np.savez(root / "data.npz", x=rng.normal(size=(n, 3)), kind=label)
    np.save(root / "x.npy", rng.normal(size=(n, 3)))
    np.save(root / "y.npy", np.arange(n) % 2)
    words = ("a fine day", "the worst of all", "rain again", "sun and wind")
    said = [f"{words[rng.integers(4)]} {words[rng.integers(4)]},{k}" for k in rows["kind"]]
    root.joinpath("words.csv").write_text(
        "\n".join(["review,kind", *said]) + "\n", encoding="utf-8"
    )
    days = [f"2024-{1 + i % 12:02}-{1 + i % 28:02} 0{i % 10}:30" for i in range(n)]
    dated = [f"{day},{i % 31}.{1 + i % 12}.2023,{k}" for i, (day, k) in _each(days, rows["kind"])]
    root.joinpath("dates.csv").write_text(
        "\n".join(["seen,born,kind", *dated]) + "\n", encoding="utf-8"
    )
    gaps = [f"{i % 7 or ''},{'' if i % 9 == 0 else k}" for i, k in enumerate(rows["kind"])]
    root.joinpath("blanks.csv").write_text("\n".join(["size,kind", *gaps]) + "\n", encoding="utf-8")
    image_folder(root / "photos", each=6)
    listed = [f"{c}/{i}.png,{c}" for c in ("cat", "dog") for i in range(6)]
    root.joinpath("photos/list.csv").write_text(
        "\n".join(["path,kind", *listed]) + "\n", encoding="utf-8"
    )
    saved_dataset(root / "saved", table(), parts=2)
    losses = rng.random((2, n)).astype(np.float32)
    np.save(root / "losses.npy", losses)
    np.savez(root / "losses.npz", loss=losses, ids=np.array(rows["name"]))
    columns = [[*rows["name"]], *losses.tolist()]
    written = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    root.joinpath("losses.csv").write_text(
        "\n".join(["id,loss_0,loss_1", *written]) + "\n", encoding="utf-8"
    )
    (root / "cartography").mkdir()
    for epoch in range(2):
        guesses = [{"guid": i, "logits_epoch_0": [0.1 * i, 1.0], "gold": i % 2} for i in range(n)]
        epochs = "".join(
            json.dumps({k.replace("_0", f"_{epoch}"): v for k, v in g.items()}) + "\n"
            for g in guesses
        )
        (root / f"cartography/dynamics_epoch_{epoch}.jsonl").write_text(epochs, encoding="utf-8")
    Dynamics.from_losses(losses, ids=np.array(rows["name"])).save(root / "dynamics.dris")
    likely = rng.dirichlet((2, 1), size=n).round(4)
    likely[:, 1] = 1 - likely[:, 0]
    np.save(root / "likely.npy", likely)
    named = pa.table({"id": rows["name"], "cat": likely[:, 0], "dog": likely[:, 1]})
    pq.write_table(named, root / "likely.parquet")
    pyarrow.csv.write_csv(named, root / "likely.csv")
    root.joinpath("recipe.toml").write_text(
        'command = "clean"\ndata = ["data.csv"]\nlabel = "kind"\nid = "name"\nepochs = 1\n'
        'proxies = 2\nmodel = "sgd_log"\ncanaries = "none"\nskip_harm_check = true\nworkers = 1\n',
        encoding="utf-8",
    )
    root.joinpath("m.csv").write_text("kind,cat,dog\ncat,0.8,0.2\ndog,0.1,0.9\n", encoding="utf-8")
    write_shards(root / "losses", losses_of(90), shards=2)
    if not outputs:
        return root
    for words_ in (
        f"audit draw data.csv {COLUMNS} --n 3 --out audit.csv",
        "rank losses --workers 1 --keep 0.5 --out ranked",
        f"clean data.csv {COLUMNS} {QUICK} --store runs --out o",
        f"{REVIEW} --export label-studio.json --as label-studio --epochs 1 --workers 1",
        f"{REVIEW} --import said.json --as label-studio --force",
        f"{REVIEW} --export argilla.json --as argilla",
        f"{REVIEW} --export answers.csv --as csv",
    ):
        if "said.json" in words_:
            _answered(root / "label-studio.json", root / "said.json")
            shutil.copy(root / "said.json", root / "label-studio.json")
        code, said_ = called(words_.split(), root, limit=1200)
        if code:
            raise SystemExit(f"fuzz: the world cannot be made: {words_}\n{said_}")
    head, *drawn = root.joinpath("audit.csv").read_text(encoding="utf-8").splitlines()
    filled = [",".join([*r.split(",")[:3], "right", *r.split(",")[4:]]) for r in drawn]
    for name in ("audit.csv", "review.csv"):
        root.joinpath(name).write_text("\n".join([head, *filled]) + "\n", encoding="utf-8")
    shutil.rmtree(root / "o", ignore_errors=True)
    return root


def _each(*columns: Sequence[object]) -> Iterator[tuple[int, tuple[object, ...]]]:
    return enumerate(zip(*columns, strict=True))


def _answered(asked: Path, said: Path) -> None:
    """A tool's export of what dris handed over, with answers of two people."""
    tasks = json.loads(asked.read_text(encoding="utf-8"))
    for number, task in enumerate(tasks[:12]):
        picked = [{**r, "value": {"choices": [task["data"]["given"]]}} for r in _choice(task)]
        who = {"email": f"p{number % 2}"}
        task["annotations"] = [
            {"completed_by": who, "was_cancelled": number % 5 == 0, "result": picked}
        ]
    said.write_text(json.dumps(tasks), encoding="utf-8")


def _choice(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    return task["predictions"][0]["result"] or [{"from_name": "label", "type": "choices"}]


def _write_sheet(path: Path, lines: list[str]) -> None:
    try:
        from openpyxl import Workbook
    except ImportError:
        path.write_bytes(b"")
        return
    book = Workbook()
    for line in lines:
        book.active.append(
            [float(c) if re.fullmatch(r"-?[0-9.]+", c) else c for c in line.split(",")]
        )
    book.save(path)


# -- damage --------------------------------------------------------------------------------------


def damaged(blob: bytes, draw: random.Random) -> bytes:
    """The bytes with a few of them wrong, gone, twice or hostile."""
    found = bytearray(blob)
    for _ in range(draw.choice((1, 1, 2, 5))):
        size = len(found)
        at = draw.randrange(size + 1)
        to = min(size, at + draw.choice((1, 4, 40, size)))
        how = draw.randrange(7)
        if how == 0 and size:
            found[min(at, size - 1)] ^= 1 << draw.randrange(8)
        elif how == 1:
            del found[at:to]
        elif how == 2:
            found[at:at] = found[at:to]
        elif how == 3:
            found[at:at] = hostile(draw)
        elif how == 4:
            del found[at:]
        elif how == 5:
            found[at:to] = bytes(draw.randrange(256) for _ in range(min(to - at, 64)))
        else:
            found[at:to] = hostile(draw)
        del found[1 << 20 :]
    return bytes(found)


def hostile(draw: random.Random) -> bytes:
    """A cell that should not be believed."""
    return draw.choice(HOSTILE).encode("utf-8", "surrogatepass")


def with_hostile_cell(blob: bytes, draw: random.Random) -> bytes:
    """Text with a cell, a name or a value in another's place, quoted as it should be."""
    lines = blob.split(b"\n")
    at = draw.randrange(len(lines))
    for separator in (b",", b"\t", b'"'):
        if separator in lines[at]:
            cells = lines[at].split(separator)
            word = hostile(draw) if draw.random() < 0.7 else draw.choice(NUMBERS).encode()
            quoted = b'"' + word.replace(b'"', b'""') + b'"'
            place = draw.randrange(len(cells))
            before = cells[place]
            cells[place] = word if separator == b'"' or draw.random() < 0.3 else quoted
            lines[at] = separator.join(cells)
            if draw.random() < 0.5 and before:  # everywhere: a label that is so called
                new = b"\n".join(lines)
                return new.replace(separator + before + b"\n", separator + quoted + b"\n")
            break
    return b"\n".join(lines)


def hurt_inside(path: Path, draw: random.Random) -> None:
    """Damage what is packed in a file, and pack it again."""
    import gzip
    import zipfile

    blob, way = path.read_bytes(), draw.choice((damaged, with_hostile_cell))
    if blob[:2] == b"\x1f\x8b":
        path.write_bytes(gzip.compress(way(gzip.decompress(blob), draw), mtime=0))
        return
    with zipfile.ZipFile(path) as packed:
        members = {info.filename: packed.read(info) for info in packed.infolist()}
    name = draw.choice(sorted(members))
    members[name] = way(members[name], draw)
    if draw.random() < 0.1:
        members[draw.choice(("../out.csv", "/tmp/out.csv", f"a\n{MARK}", "b/"))] = members[name]
    with zipfile.ZipFile(path, "w") as packed:
        for member, content in members.items():
            packed.writestr(member, content)


def hurt(path: Path, draw: random.Random) -> None:
    """Damage a file, or one of the files of a folder, or put something else in its place."""
    if path.is_dir():
        inside = sorted(p for p in path.rglob("*") if p.is_file())
        if not inside:
            return
        path = draw.choice(inside)
    how = draw.random()
    if path.suffix in (".gz", ".zip", ".xlsx", ".npz") and path.stat().st_size and how < 0.5:
        hurt_inside(path, draw)
    elif how < 0.45:
        path.write_bytes(damaged(path.read_bytes(), draw))
    elif how < 0.8:
        path.write_bytes(with_hostile_cell(path.read_bytes(), draw))
    elif how < 0.84:
        path.write_bytes(b"[" * 100_000 if draw.random() < 0.5 else b'{"a":' * 50_000)
    elif how < 0.92:
        path.unlink()
        kind = draw.randrange(5)
        if kind == 0:
            os.mkfifo(path)
        elif kind == 1:
            path.symlink_to("/dev/zero")
        elif kind == 2:
            path.mkdir()
        elif kind == 3:
            path.symlink_to("nowhere")
        else:
            path.write_bytes(b"")


def twisted(words: list[str], draw: random.Random) -> list[str]:
    """The words with now and then a value that makes no sense."""
    found = list(words)
    if draw.random() < 0.3:
        places = [i for i, word in enumerate(found) if i and not word.startswith("--")]
        if places:
            place = draw.choice(places)
            other = draw.choice(HOSTILE) if draw.random() < 0.5 else draw.choice(NUMBERS)
            found[place] = other.replace("\0", "").replace("\ud800", "x")
    if draw.random() < 0.15:
        found += draw.choice(
            (
                ["--keep", draw.choice(NUMBERS)],
                ["--seed", draw.choice(NUMBERS)],
                ["--proxies", draw.choice(("0", "1", "x", "-3"))],
                ["--folds", draw.choice(("0", "1", "-1", "60", "x"))],
                ["--features", draw.choice(("height", "nothing", "kind", ","))],
                ["--device", draw.choice(("0", "gpu", "cuda:9", ""))],
                ["--at-most", draw.choice(NUMBERS)],
                ["--missing", draw.choice(("mark", "refuse", "x"))],
                ["--json"],
                ["--force"],
                ["--trusted", draw.choice(("colour", "kind", "name"))],
                ["--image-size", draw.choice(("0", "1", "-1", "x"))],
                ["--allow-outside"],
                ["--out", draw.choice(("data.csv", "/dev/null", "", "o/../o"))],
                ["--store", draw.choice(("data.csv", "photos", ""))],
                ["--config", draw.choice(("data.csv", "/dev/zero", "nothing", "."))],
                ["--text", draw.choice(("words", "auto", "x"))],
                ["--columns", draw.choice(("all", "colour", "x", ""))],
                ["--without", draw.choice(("height", "kind", "x,y"))],
                ["--merge-spellings"],
                ["--fix"],
                ["--port", draw.choice(("-1", "1", "x", "99999"))],
                ["--sample", draw.choice(NUMBERS)],
                ["--reviewer", draw.choice(HOSTILE).replace("\0", "").replace("\ud800", "x")],
                ["--workers", draw.choice(("0", "-1", "x"))],
            )
        )
    return found


# -- one call ------------------------------------------------------------------------------------


def called(words: list[str], folder: Path, limit: float = LIMIT) -> tuple[int | str, str]:
    """Run a command in a fork that stands in `folder`: its exit code or its end, its words."""
    out = folder.parent / f".said-{os.getpid()}"
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        be_the_command(words, folder, out)
    deadline = time.monotonic() + limit
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "hang", _read(out)
        time.sleep(0.002)
    code = os.waitstatus_to_exitcode(status)
    return (f"signal {-code}" if code < 0 else code), _read(out)


Caller = Callable[[list[str], Path], tuple[int | str, str]]


def called_here(words: list[str], folder: Path) -> tuple[int | str, str]:
    """As `called`, in this process, which is watched by another."""
    out = folder.parent / f".said-{os.getpid()}"
    return call_here(words, folder, out), _read(out)


def be_the_command(words: list[str], folder: Path, out: Path) -> NoReturn:
    """Run a command in this process, a fork, and end with its exit code."""
    code = 70
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        code = call_here(words, folder, out)
    finally:
        os._exit(code)


def call_here(words: list[str], folder: Path, out: Path) -> int:
    """Run a command in this process, whose words go to a file; its exit code."""
    os.chdir(folder)
    target = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    quiet = os.open("/dev/null", os.O_RDONLY)
    for fd, onto in ((quiet, 0), (target, 1), (target, 2)):
        os.dup2(fd, onto)
    os.close(target)
    os.close(quiet)
    stream = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", write_through=True)
    sys.stdout = sys.stderr = stream
    sys.argv = ["dris", *words]
    try:
        from dris.cli import main

        with never_serving():
            main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        return 70
    finally:
        with contextlib.suppress(BaseException):
            stream.flush()
    return 0


CASE = ""  # which case this process is at
PATHS = (
    *("", "opening", "progress", "review.js", "events", "cards?at=0,1,-1", "cards?at=x", "nothing"),
    *("similar?at=0", "similar?at=1,2", "similar?at=", "search?words=%00[", "check?cell=0,1"),
    *("check?cell=0", "check?cell=99999999999999999999,1", "picture/0/96", "picture/0/999999999"),
    *("picture/99999999999999999999/0", "export/csv", "export/argilla", "export/%2e%2e"),
    *("answer", "answer?who=%0a%1b[31m", "answer?who=" + "x" * 3000, "undo", "accept", "finish"),
    *("opening?who=%ff", "%2e%2e/%2e%2e/etc/passwd"),
)
BODIES = (
    *(b"", b"{}", b"[]", b"null", b"[" * 100_000, b'{"a":' * 20_000, b"\xff", b"{" + b" " * 2**21),
    *(b'{"at": 0, "answer": "right"}', b'{"at": 1e400, "answer": []}', b'{"at": true}'),
    *(b'{"at": 99999999999999999999999, "answer": "wrong"}', b'{"given": 0, "suggested": 1}'),
    *(b'{"at": 1, "answer": "wrong", "label": 0}', b'{"again": false}', b'{"at": NaN}'),
)


@contextlib.contextmanager
def never_serving() -> Iterator[None]:
    """Let `dris review` answer a few requests in place of all that ever come."""
    try:
        from uvicorn import Server
    except ImportError:
        yield
        return
    before, Server.run = Server.run, asked_at_random  # type: ignore[method-assign]
    try:
        yield
    finally:
        Server.run = before  # type: ignore[method-assign]


def asked_at_random(server: Any, sockets: Sequence[socket.socket]) -> None:
    """What a page, or somebody who pretends to be one, may ask of the app of `dris review`."""
    draw, app = random.Random(f"{CASE} asked"), server.config.app
    port = sockets[0].getsockname()[1]
    token = app.user_middleware[0].kwargs["token"]
    for _ in range(12):
        path, _, query = draw.choice(PATHS).partition("?")
        posts = path in ("answer", "undo", "accept", "finish") or draw.random() < 0.1
        head = f"/{token}/" if draw.random() < 0.95 else draw.choice(HOSTILE)
        said = [(b"host", f"127.0.0.1:{port}".encode()), (b"content-type", b"application/json")]
        said += [(b"origin", f"http://127.0.0.1:{port}".encode())] if draw.random() < 0.9 else []
        scope = {
            "type": "http",
            "method": "POST" if posts else "GET",
            "path": head + unquote(path),
            "query_string": query.encode(),
            "headers": said,
            "server": ("127.0.0.1", port),
        }
        status = asyncio.run(_asked(app, scope, draw.choice(BODIES)))
        if status >= 500:
            raise RuntimeError(f"{path}: status {status}")


async def _asked(app: Any, scope: dict[str, Any], body: bytes) -> int:
    """The status of an answer."""
    parts = iter([{"type": "http.request", "body": body}])
    found = [0]

    async def receive() -> dict[str, Any]:
        return next(parts, {"type": "http.disconnect"})

    async def send(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    await app(scope, receive, send)
    return found[-1]


def _read(path: Path) -> str:
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes().decode("utf-8", "replace")
    return ""


def state_of(folder: Path) -> dict[str, bytes | str]:
    """Every file below a folder, what is no file by where it leads."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        elif path.is_file():
            found[name] = path.read_bytes()
        elif not path.is_dir():
            found[name] = "no file"
    return found


def wrong_with(
    code: int | str, said: str, before: dict[str, bytes | str], after: dict[str, bytes | str]
) -> list[str]:
    """What a call did against the promises, in words."""
    found = (
        [] if code in (0, 1, 2, 3) else [f"exit {code}"]
    )  # 3: `check` was given what it cannot read
    if "Traceback (most recent call last)" in said:
        found.append("traceback")
    if code == 1 and not any(
        line.startswith(("dris: ", "above: ")) for line in said.splitlines()[-1:]
    ):
        found.append("no sentence")
    if SHOWN.search(said):
        found.append("raw control character")
    if any(line.startswith(MARK) for line in said.splitlines()):
        found.append("a line of the input's own")
    changed = [name for name, was in before.items() if not _kept(was, after.get(name), name)]
    return found + [f"changed {name}" for name in changed]


def _kept(was: bytes | str, now: bytes | str | None, name: str) -> bool:
    """Whether a file is as it was; to a review, or an empty file for one, answers may be added."""
    if name == "answers.jsonl" and isinstance(was, bytes) and isinstance(now, bytes):
        review = not was or was.startswith(b'{"file":"dris review"')
        return now.startswith(was) if review else now == was
    return now == was


def foreign(state: dict[str, bytes | str], words: list[str]) -> dict[str, bytes | str]:
    """What no command may change: all but its own store, when it is told to clean it."""
    own = [w for w in ("ranked",) if w in words]
    own += ["runs"] if "runs" in words else []
    return {n: v for n, v in state.items() if not any(n.startswith(f"{o}/") for o in own)}


@dataclass
class Seen:
    """What a case came to."""

    number: int
    words: list[str]
    code: int | str
    said: str
    wrong: list[str]


def run_case(seed: int, number: int, world: Path, folder: Path, call_by: Caller = called) -> Seen:
    """Damage a fresh copy of the world as the number says, run the command, look."""
    global CASE
    CASE = f"{seed} {number}"
    draw = random.Random(f"{seed} {number}")
    call = CALLS[number % len(CALLS)]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = call.words.split()
    for name in needed(words):
        source = world / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        elif source.exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, folder / name)
    for name in call.inputs:
        if draw.random() < 0.93:
            hurt(folder / name, draw)
    if draw.random() < 0.1:  # somebody else's file where the command would write
        (folder / "o").mkdir(exist_ok=True)
        for name in ("kept.csv", "cleaned.csv", "scores.parquet", "a.csv", ".dris-written.json"):
            (folder / "o" / name).write_text("precious", encoding="utf-8")
    words = twisted(words, draw)
    before = foreign(state_of(folder), words)
    code, said = call_by(words, folder)
    wrong = wrong_with(code, said, before, state_of(folder))
    return Seen(number, words, code, said, wrong)


def needed(words: list[str]) -> list[str]:
    """The inputs that a command line names, and what lies beside them."""
    names = [w.partition(":")[0] for w in words if not w.startswith("-")]
    found = [n for n in names if n not in ("o", ".", "") and not n.startswith("o/")]
    found = [n.split("/")[0] for n in found]
    more = {"audit.csv": ["audit.json"], "recipe.toml": ["data.csv"]}
    return list(dict.fromkeys([*found, *(m for n in found for m in more.get(n, ()))]))


# -- many calls ----------------------------------------------------------------------------------


@contextlib.contextmanager
def prepared(*, short: bool = False, kept: Path | None = None) -> Iterator[tuple[Path, Path]]:
    """The world, and a place for cases; what commands import is imported once.

    The world is taken from the folder `kept`, if that is given, and left there for the next time.
    """
    before = dict(os.environ), tempfile.tempdir
    try:
        with _apart() as home:
            world = home / "world"
            if kept is not None and kept.exists():
                shutil.copytree(kept, world, symlinks=True)
            else:
                world.mkdir()
                made_world(world, outputs=not short)
                if kept is not None:
                    shutil.copytree(world, kept, symlinks=True)
            warm(world, WARM[:1] if short else WARM)
            yield world, home
    finally:
        os.environ.clear()
        os.environ.update(before[0])
        tempfile.tempdir = before[1]


@contextlib.contextmanager
def _apart() -> Iterator[Path]:
    """A folder for everything, with a home and a temporary folder of its own."""
    os.environ.update(NO_COLOR="1", COLUMNS="200")
    for name in ("DRIS_DATA", "DRIS_STORE"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        home = Path(scratch)
        os.environ.update(HOME=scratch, XDG_CACHE_HOME=f"{scratch}/cache", TMPDIR=scratch)
        tempfile.tempdir = scratch
        yield home


def needs_outputs(call: Call) -> bool:
    """Whether a call is about what dris wrote before."""
    return bool(
        {"ranked", "runs", "audit.csv", "review.csv", "answers.jsonl"} & {*call.words.split()}
    )


def warm(world: Path, lines: tuple[str, ...] = WARM) -> None:
    """Run a few commands here, so that no fork has to import what all of them need."""
    import typer.main

    from dris.cli import main as command

    typer.main.get_command = cache(typer.main.get_command)  # the same for every call
    before = Path.cwd(), sys.argv, sys.stdout, sys.stderr
    with tempfile.TemporaryDirectory(prefix="warm-") as scratch:
        for line in lines:
            shutil.copytree(world, Path(scratch, "world"))
            os.chdir(Path(scratch, "world"))
            sys.argv = ["dris", *line.split()]
            sys.stdout = sys.stderr = io.StringIO()
            try:
                with contextlib.suppress(SystemExit), never_serving():
                    command()
            finally:
                os.chdir(before[0])
                sys.argv, sys.stdout, sys.stderr = before[1:]
            shutil.rmtree(Path(scratch, "world"))
    gc.collect()
    gc.freeze()  # what is never looked at stays shared


def run_many(
    seed: int,
    numbers: Sequence[int],
    *,
    workers: int = 1,
    tell: Callable[[Seen], None] | None = None,
    short: bool = False,
    kept: Path | None = None,
) -> list[Seen]:
    """Every case of these numbers; those with something wrong come back.

    With `short` there are no outputs of dris to begin with, and calls about them have no number.
    """
    with prepared(short=short, kept=kept) as (world, home):
        if workers <= 1:
            return _those_wrong(seed, list(numbers), world, home / "case", tell)
        children = []
        for place in range(workers):
            child = os.fork()
            if child == 0:
                mine = [n for n in numbers if n % workers == place]
                bad = _those_wrong(seed, mine, world, home / f"case-{place}" / "case", tell)
                rows = [[s.number, s.words, s.code, s.said, s.wrong] for s in bad]
                (home / f"bad-{place}.json").write_text(json.dumps(rows), encoding="utf-8")
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        return [
            Seen(*row)
            for place in range(workers)
            for row in json.loads((home / f"bad-{place}.json").read_text(encoding="utf-8"))
        ]


def _those_wrong(
    seed: int,
    numbers: list[int],
    world: Path,
    folder: Path,
    tell: Callable[[Seen], None] | None,
) -> list[Seen]:
    found = []
    codes: Counter[str] = Counter()
    left = list(numbers)
    while left and time.monotonic() < END:
        some = _batch(seed, left[:BATCH], world, folder)
        for seen in some:
            codes[str(seen.code)] += 1
            if seen.wrong:
                found.append(seen)
                if tell is not None:
                    tell(seen)
        done, left = len(numbers) - len(left) + len(some), left[len(some) :]
        if tell is not None and done // 500 > (done - len(some)) // 500:
            print(f"{done:,} of {len(numbers):,} calls: exits {dict(codes)}", flush=True)
    if left:
        print(f"stopped: exits {dict(codes)}; to go on: --from {left[0]}", flush=True)
    return found


def crowd() -> float:
    """How many others want each core: seconds of a clock are so much longer."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _batch(seed: int, numbers: list[int], world: Path, folder: Path) -> list[Seen]:
    """Cases one after the other in a fork, up to one that hangs or ends it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    results = folder.parent / f".seen-{os.getpid()}"
    results.write_bytes(b"")
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            for number in numbers:
                seen = run_case(seed, number, world, folder, called_here)
                row = [seen.number, seen.words, seen.code, seen.said, seen.wrong]
                with results.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
        finally:
            os._exit(0)
    size, since, how = 0, time.monotonic(), ""
    while not os.waitpid(child, os.WNOHANG)[0]:
        if results.stat().st_size > size:
            size, since = results.stat().st_size, time.monotonic()
        elif time.monotonic() - since > LIMIT * crowd():
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            how = "hang"
            break
        time.sleep(0.02)
    found = [Seen(*json.loads(line)) for line in results.read_text(encoding="utf-8").splitlines()]
    if len(found) < len(numbers):
        how = how or "ended"
        said = _read(folder.parent / f".said-{child}")
        found.append(Seen(numbers[len(found)], ["?"], how, said, [f"exit {how}"]))
    return found


def _tell(seen: Seen) -> None:
    last = (seen.said.strip().splitlines() or [""])[-1]
    print(
        f"case {seen.number}: {', '.join(seen.wrong)}: {seen.words!a}: {last[:200]!a}", flush=True
    )


def check_csv_files(seeds: Sequence[int]) -> int:
    """Compare random CSV files with what Python's csv makes of them; 1 if any differs."""
    from random_csv import check_random_csv

    with tempfile.TemporaryDirectory() as folder:
        bad = [wrong for seed in seeds if (wrong := check_random_csv(seed, Path(folder)))]
    print("\n".join([*bad, f"{len(seeds):,} random CSV files, {len(bad)} wrong"]))
    return int(bool(bad))


def main() -> int:
    """Run the calls that were asked for; the exit code says whether all kept the promises."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--seconds", type=float, help="begin nothing after so many")
    parser.add_argument("--case", type=int, nargs="+")
    parser.add_argument("--world", type=Path, help="keep the valid inputs there, or find them")
    parser.add_argument("--csv", type=int, help="so many random CSV files instead")
    asked = parser.parse_args()
    if asked.csv is not None:
        return check_csv_files(range(asked.first, asked.first + asked.csv))
    if asked.case is not None:
        bad = []
        with prepared(kept=asked.world) as (world, home):
            for number in asked.case:
                seen = run_case(asked.seed, number, world, home / "case")
                told = f"exit {seen.code}\n{seen.said!a}\n{seen.wrong or 'as promised'}"
                print(f"case {number}: {seen.words!a}\n{told}", flush=True)
                bad += [seen] if seen.wrong else []
        return bool(bad)
    global END
    begin, numbers = time.monotonic(), range(asked.first, asked.calls)
    END = begin + asked.seconds if asked.seconds else END
    bad = run_many(asked.seed, numbers, workers=asked.workers, tell=_tell, kept=asked.world)
    kinds = Counter(word.split()[0] for seen in bad for word in seen.wrong)
    print(
        f"{len(numbers):,} calls asked for, seed {asked.seed}, {time.monotonic() - begin:.0f} s: "
        f"{len(bad)} broke a promise {dict(kinds) if bad else ''}"
    )
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
