"""What others wrote is shown escaped, read only where it is a file, and never a formula."""

import json
import os
from contextlib import suppress

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.core.sanitize import guard_text, printable
from dris.data.outputs import write_ids
from dris.data.reader import read_data
from dris.data.tables.jsonlines import open_jsonlines
from dris.learn.store.run_store import Store
from experiments.datasets.catalogue import KNOWN
from made_tables import CSV, image_folder, npy_bytes, npz_bytes, png_bytes

RAW = ("\x1b", "\x9b", "\x07", "\u202e", "\x00", "\r")
EVIL = "\x1b[31mred\x1b[0m\u202e\nEVIL [bold]x[/]"


def shown(text):
    """Whether what is printed holds nothing of the input's own making."""
    return not any(c in text for c in RAW) and not any(
        line.startswith("EVIL") for line in text.splitlines()
    )


def test_the_check_sees_what_it_is_for():
    assert not shown("a\x1b[31m")
    assert not shown("a\nEVIL")
    assert shown(printable(EVIL))


@pytest.mark.parametrize("where", ["label", "id", "column"])
def test_labels_ids_and_columns_are_shown_escaped(dris, tmp_path, where):
    cell = '"' + EVIL + '"'
    text = {
        "label": CSV.replace("yes", cell),
        "id": CSV.replace("r3", cell),
        "column": CSV.replace("job", cell, 1),
    }[where]
    (tmp_path / "a.csv").write_text(text, newline="", encoding="utf-8")
    for words in (
        f"clean {tmp_path}/a.csv --label y --id id --epochs 1 --no-report --workers 1",
        f"audit draw {tmp_path}/a.csv --label y --id id --n 3",
        f"clean {tmp_path}/a.csv --label nothing",
        f"clean {tmp_path}/a.csv --label age --id id",
    ):
        more = ["--out", str(tmp_path / f"o{len(words)}") + "/a.csv" * words.startswith("audit")]
        code, out, error = dris(*words.split(), *more)
        assert code in (0, 1)
        assert shown(out), words
        assert shown(error), words


def test_members_of_an_archive_and_names_of_files_are_shown_escaped(dris, tmp_path):
    (tmp_path / "a.npz").write_bytes(npz_bytes(**{EVIL: np.eye(4), "b": np.eye(3)}))
    code, out, error = dris("clean", tmp_path / "a.npz")
    assert code == 1
    assert shown(out + error)
    assert "\\x1b[31m" in error
    code, out, error = dris("clean", tmp_path / EVIL.replace("/", ""))
    assert code in (1, 2)  # wrong usage where no file can have such a name, as under LC_ALL=C
    assert shown(out + error)
    code, out, error = dris("rules", EVIL)  # wrong usage names the word
    assert code == 2
    assert shown(error)


def test_a_foreign_store_is_shown_escaped_and_its_mark_up_as_it_stands(dris, tmp_path):
    run = Store(tmp_path).run({"model": EVIL, "stream": ["[red]proxy[/red]", 0], "seed": 0})
    with run.locked():
        pass
    code, out, _ = dris("runs", "--store", tmp_path)
    assert code == 0
    assert shown(out)
    assert "[red]proxy[/red]" in "".join(out.split("\n")).replace("  ", "")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize(
    "words",
    [
        "clean {}.csv --label y",
        "clean {}.parquet --label y",
        "clean {}.npz --label y",
        "audit read {}.csv",
        "review a.csv --import {}.csv --label y --epochs 1 --workers 1",
        "clean a.csv --label y --from {}.npy",
        "rank {}.parquet",
        "corrupt a.csv --label y --kind transition --matrix {}.csv --out n.csv",
        "clean x.npy --label {}.npy",
        "clean a.csv --label y --from {}",  # a folder of records per epoch, one of them a pipe
    ],
)
def test_pipes_and_devices_are_refused_at_once(dris, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text(CSV, encoding="utf-8")
    (tmp_path / "x.npy").write_bytes(npy_bytes(np.eye(4)))
    for suffix in (".csv", ".parquet", ".npz", ".npy"):
        os.mkfifo(tmp_path / f"pipe{suffix}")
        (tmp_path / f"zero{suffix}").symlink_to("/dev/zero")
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "dynamics_epoch_0.jsonl")
    (tmp_path / "zero").mkdir()
    (tmp_path / "zero" / "dynamics_epoch_0.jsonl").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        code, _, error = dris(*words.replace("{}", name).split())
        assert code == 1
        assert error.startswith("dris: ")
        assert error.count("\n") == 1


def test_a_table_names_images_below_its_own_folder_unless_allowed(tmp_path):
    image_folder(tmp_path / "set")
    (tmp_path / "secret.png").write_bytes(png_bytes())
    (tmp_path / "set/link.png").symlink_to(tmp_path / "secret.png")
    rest = "".join(f"{c}/{i}.png,{c}\n" for c in ("cat", "dog") for i in range(3))
    for outside in ("../secret.png", str(tmp_path / "secret.png"), "link.png"):
        (tmp_path / "set/list.csv").write_text(
            f"path,label\n{outside},cat\n{rest}", encoding="utf-8"
        )
        for features in (None, []):
            with pytest.raises(InputError, match=r"line 2 .* does not lie below .*`allow_outside`"):
                read_data(tmp_path / "set/list.csv", features=features)
            data = read_data(tmp_path / "set/list.csv", features=features, allow_outside=True)
            assert len(data) == 7
    (tmp_path / "set/list.csv").write_text("path,label\n" + rest, encoding="utf-8")
    assert len(read_data(tmp_path / "set/list.csv")) == 6
    (tmp_path / "set/list.csv").write_text(
        "path,label\n" + rest.replace("cat/", "../set/cat/"), encoding="utf-8"
    )
    assert len(read_data(tmp_path / "set/list.csv")) == 6  # where it leads decides


FORMULA = "=HYPERLINK(1)"


def test_ids_for_a_spreadsheet_are_no_formulas(tmp_path):
    text = CSV.replace("r3,", f"{FORMULA},").replace("r4,", "'s,")
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    data = read_data(tmp_path / "a.csv", label="y", id="id")
    flipped = np.arange(len(data)) % 2 == 0
    out = write_ids(data, tmp_path / "truth.csv", columns={"flipped": flipped})
    written = out.read_text(encoding="utf-8").splitlines()
    assert f"'{FORMULA},False" in written
    assert "''s,True" in written
    assert "r0,True" in written  # and what is none stays as it is


def test_only_what_could_be_a_formula_is_guarded():
    for text in (FORMULA, "+1", "-1", "@x", "'x", "\tx", "\rx", "\nx"):
        assert guard_text(text) == f"'{text}"
    for text in ("", "cat", "a=b", "1-1", " =1"):
        assert guard_text(text) == text


def test_a_damaged_header_of_an_array_is_one_sentence(dris, tmp_path):
    whole = npy_bytes(np.eye(4))
    (tmp_path / "y.npy").write_bytes(npy_bytes(np.array([0, 1, 0, 1])))
    refused = 0
    for at in range(6, 80):
        (tmp_path / "x.npy").write_bytes(whole[:at] + b"(" + whole[at + 1 :])
        with suppress(InputError):  # and nothing else
            read_data(tmp_path / "x.npy", label=str(tmp_path / "y.npy"))
            refused -= 1
        refused += 1
    assert refused > 40


def test_deep_json_that_is_whole_does_not_end_the_process(dris, tmp_path):
    first = '{"v": 1, "kind": "cat"}\n'
    for deep in (
        '{"v":' * 50_000 + "1" + "}" * 50_000,
        '{"v":' + "[" * 50_000 + "]" * 50_000 + "}",
    ):
        (tmp_path / "a.jsonl").write_text(first + deep + "\n", encoding="utf-8")
        code, _, printed = dris("clean", tmp_path / "a.jsonl", "--label", "kind", "--out", tmp_path)
        assert (code, printed.count("\n")) == (1, 1)
        assert "line 2 of" in printed
        assert "is not JSON" in printed
    # The twin: many brackets that do not lie within one another are read.
    (tmp_path / "b.jsonl").write_text(
        json.dumps({"v": [[1]] * 3000, "kind": "cat"}) + "\n", encoding="utf-8"
    )
    assert open_jsonlines([tmp_path / "b.jsonl"]).count == 1


def test_what_rank_wrote_and_is_damaged_since_is_one_sentence(dris, tmp_path):
    from made_shards import losses_of, write_shards

    write_shards(tmp_path / "losses", losses_of(90), shards=1)
    words = ["rank", tmp_path / "losses", "--workers", "1", "--out", tmp_path / "o"]
    assert dris(*words)[0] == 0
    for text in ("[" * 100_000, "{}", "[1]", json.dumps({"rank_errors": 3})):
        (tmp_path / "o/ranked.json").write_text(text, encoding="utf-8")
        code, _, error = dris(*words)
        assert code == 1
        assert error.count("\n") == 1


def test_everything_is_fetched_over_https_and_checked_by_sha_256_where_it_is_known():
    # Without an address a file is put into the folder by hand, and its arrays are checked.
    published = [one for known in KNOWN.values() for one in known.published if one.address]
    assert all(one.address.startswith("https://") for one in published)
    for one in published:
        if one.folder != "food-101":  # too large to be at hand here
            assert set(one.parts) <= set(one.sha256)
            assert all(len(sum_) == 64 for sum_ in one.sha256.values())
