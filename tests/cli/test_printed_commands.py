"""Every command that is printed as the next step is typed as it stands, and works."""

import json
import re
import shlex
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from dris.cli.data_options import DataOptions
from dris.data.reader import read_data
from dris.pipeline.route import decide
from dris.pipeline.wording import next_command
from made_review import fill_in

N = 240
FAST = ["--proxies", "2", "--epochs", "2", "--workers", "1"]
PRINTED = re.compile(r"(?:^|: )(dris [a-z].*)$", re.M)


def columns():
    rng = np.random.default_rng(0)
    y = np.arange(N) % 2
    x = rng.normal(size=(N, 2)) + 2 * y[:, None]
    return x, np.array(["cat", "dog"])[np.where(rng.random(N) < 0.1, 1 - y, y)]


def as_csv(folder):
    """A file and columns whose names have to be quoted, one of them not to be learned from."""
    x, y = columns()
    lines = [
        f"r{i},{a:.3f},{b:.3f},{i % 7},{v}" for i, (a, b, v) in enumerate(zip(*x.T, y, strict=True))
    ]
    path = folder / "my pets.csv"
    path.write_text("\n".join(["the id,a,b,=note,given label", *lines]) + "\n", encoding="utf-8")
    return [path, "--label", "given label", "--id", "the id", "--without", "=note"]


def as_parquet(folder):
    x, y = columns()
    pq.write_table(pa.table({"a": x[:, 0], "b": x[:, 1], "y": y}), folder / "pets.parquet")
    return [folder / "pets.parquet", "--label", "y", "--features", "a,b"]


def as_arrays(folder):
    x, y = columns()
    for name, values in {"x": x, "y": y, "who": np.arange(N) + 100}.items():
        np.save(folder / f"{name}.npy", values)
    return [folder / "x.npy", "--label", str(folder / "y.npy"), "--id", str(folder / "who.npy")]


def as_images(folder):
    rng = np.random.default_rng(0)
    for i, kind in enumerate(columns()[1]):
        path = folder / "pets" / str(kind) / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        grey = rng.integers(0, 99, (8, 8), dtype=np.uint8) + 100 * (kind == "dog")
        Image.fromarray(grey.astype(np.uint8)).save(path)
    return [folder / "pets", "--image-size", "8"]


MAKERS = (as_csv, as_parquet, as_arrays, as_images)


def steps(printed):
    """The words of every command in what was printed."""
    return [shlex.split(line)[1:] for line in PRINTED.findall(printed)]


def the(step, printed):
    """The one printed command of this name."""
    matching = [words for words in steps(printed) if words[: len(step.split())] == step.split()]
    assert len(matching) == 1, printed
    return matching[0]


@pytest.mark.parametrize("make", MAKERS)
def test_from_the_sheet_to_the_next_clean_every_line_can_be_typed(
    make, dris, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    model = ["--model", "linear_head"]
    words = [*make(tmp_path), *FAST, *model, "--export", "my sheet.csv"]
    code, printed, told = dris("review", *words)
    assert code == 0, told
    fill_in(tmp_path / "my sheet.csv", "right")
    code, printed, told = dris(*the("review", printed))
    assert code == 0, told
    later = the("clean", printed)
    assert later[later.index("--trusted") + 1] == "trusted"
    code, printed, told = dris(*later, *FAST, *model, "--json", "--no-report", "--skip-harm-check")
    assert code == 0, told
    assert json.loads(printed)["examples"] == N


@pytest.mark.parametrize("make", MAKERS)
def test_what_was_cleaned_or_pruned_is_checked_as_the_command_says(
    make, dris, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    how = [*FAST, "--model", "linear_head", "--no-report", "--skip-harm-check", "--out", "the out"]
    code, printed, told = dris("clean", *make(tmp_path), *how)
    assert code == 0, told
    (step,) = steps(printed)  # suspects are looked at first, where there are any
    more = [*FAST, "--export", "sheet.csv"] if step[0] == "review" else ["--out", "drawn.csv"]
    code, _, told = dris(*step, *more)
    assert code == 0, told
    code, printed, told = dris("prune", *make(tmp_path), *how, "--keep", "0.5")
    assert code == 0, told
    code, printed, told = dris(*the("audit draw", printed), "--n", "5")
    assert code == 0, told
    fill_in(tmp_path / "audit.csv", "right")
    code, printed, told = dris(*the("audit read", printed))
    assert code == 0, told


def test_the_page_says_how_to_look_on_with_what_it_takes_to_read_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path, *_ = as_csv(tmp_path)
    decision = decide(read_data(path, label="given label", id="the id"), workers=1)
    words = shlex.split(next_command(decision, path.name))
    assert words == ["dris", "review", "my pets.csv", "--label", "given label", "--id", "the id"]
    asked = {"label": "given label", "without": ["=note", "a"], "missing": "mark"}
    other = replace(decision.data, origin=replace(decision.data.origin, reading=asked))
    printed = next_command(replace(decision, data=other), path.name)
    assert shlex.split(printed)[3:] == [*("--label", "given label", "--without", "=note,a")]


def test_a_flag_that_a_step_would_lose_is_noticed():
    """The twin: all that says how data is read is there, and nothing that is as always."""
    options = DataOptions(label="-l", without="a b,c", missing="refuse", text="words", image_size=9)
    words = shlex.split(options.step("review", "d.csv"))
    assert words == [
        *("dris", "review", "d.csv", "--label=-l", "--without", "a b,c"),
        *("--missing", "refuse", "--text", "words", "--image-size", "9"),
    ]
    assert DataOptions().step("clean", "a b.csv") == "dris clean 'a b.csv'"
