"""Whatever is wrong with a file: one sentence that names it and the remedy, nothing changed."""

import gzip
import os
import re
import struct
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dris.core.errors import InputError
from dris.data import files
from dris.data.labelled import LabelledData
from dris.data.reader import read_data
from dris.data.tables import excel
from made_tables import (
    CSV,
    N,
    image_folder,
    npy_bytes,
    npz_bytes,
    parquet_bytes,
    png_bytes,
    read_or_refused,
    saved_dataset,
    table,
    zipped,
)


class Trap:
    """Unpickling this would leave a mark."""

    def __reduce__(self):
        return os.mkdir, ("unpickled",)


def with_column(name, values):
    content = table()
    at = content.schema.names.index(name)
    return parquet_bytes(content.set_column(at, name, values))


def promise(shape: str) -> bytes:
    """An NPY file whose header promises more than the file holds."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


y = {"label": "y"}
both = {"label": "y", "id": "id"}
strict = {**both, "missing": "refuse"}
vectors = {**both, "features": ["embedding"]}
ages = {**both, "features": ["age"]}
ragged = pa.array([[1.0, 2.0]] * (N - 1) + [[1.0]])
lines = CSV.encode()
none_of = "has no label in any row"
latin = "latin-1"
mixed_json = b'{"x": 1, "y": "a"}\n{"x": [1], "y": "b"}\n{"x": "c", "y": "b"}\n'
bytes_of_all = bytes(range(256)) * 9


def csv_with(old, new):
    return CSV.replace(old, new).encode()


# name of the file, its bytes, the options, what the sentence says
BAD = {
    "empty csv": ("a.csv", b"", y, "a.csv is empty"),
    "no rows, csv": ("a.csv", b"x,y\n", y, "has no rows"),
    "truncated parquet": ("a.parquet", parquet_bytes()[:-9], y, "a.parquet cannot be read"),
    "truncated npz": ("a.npz", npz_bytes()[:-40], y, "a.npz cannot be read"),
    "truncated csv": ("a.csv", lines[:-9], both, "line 13 of .* has 3 cells .* header has 4"),
    "open quote": ("a.csv", b'x,y\n1,a\n2,"b\n', y, "open quote in line 3"),
    "too many cells": ("a.csv", b"x,y\n1,a\n2,b,c\n", y, "line 3 of .* 3 cells .* header has 2"),
    "garbage csv": ("a.csv", bytes_of_all, y, "a.csv"),
    "garbage npy": ("a.npy", bytes_of_all, {"label": "y.npy"}, "y.npy is no file"),
    "parquet called csv": ("a.csv", parquet_bytes(), y, "a.csv"),
    "no cp1252": ("a.csv", b"x,y\n1,\x81\n2,b\n", y, "not text in utf-8 or cp1252"),
    "a user that is not there": ("~nobody-here.csv", b"x,y\n", y, "no rows"),
    "no such encoding": ("a.csv", CSV.encode(), {**y, "encoding": "utf9"}, "no `encoding`"),
    "another encoding": (
        "a.csv",
        "x,y\n1,ä\n2,b\n".encode(latin),
        {**y, "encoding": "utf-8"},
        "utf-8",
    ),
    "no text in the end": ("a.csv", CSV.encode("utf-16")[:-1], y, "not text in utf-16"),
    "a title": ("a.csv", b"Report\n\nx,z,y\n1,2,a\n3,4,b\n", y, "above the names"),
    "a json list": ("a.json", b'[{"x": 1, "y": "a"}]', y, "as a.jsonl"),
    "cut gzip": ("a.csv.gz", gzip.compress(lines * 99)[:-20], y, "a.csv.gz cannot be read"),
    "no gzip": ("a.csv.gz", lines, y, "a.csv.gz cannot be read"),
    "two files in a zip": (
        *("a.zip", zipped(CSV, ("a.csv", "b.csv")), y, "holds 2 files .a.csv, b.csv.*; unpack it"),
    ),
    "no object": ("a.jsonl", b'{"x": 1, "y": "a"}\n[3]\n', y, "line 2 of .* is no object"),
    "cut json": ("a.jsonl", b'{"x": 1, "y": "a"}\n{"x": \n', y, "line 2 of .* is not JSON"),
    "two kinds in json": ("a.jsonl", b'{"x": 1}\n{"x": "a"}\n', y, "one kind of value"),
    "json of several kinds": ("a.jsonl", mixed_json, y, "a.jsonl"),
    "no label column": ("a.csv", lines, {"label": "class"}, "no column 'class'; its col"),
    "no label named": ("a.csv", lines, {}, "`label`; its columns are id, age"),
    "label as feature": ("a.csv", lines, {**y, "features": ["y"]}, "none of y"),
    "label is id": ("a.csv", lines, {**y, "id": "y"}, "different columns"),
    "only a label": ("a.csv", b"y\na\nb\na\n", y, "no column to learn from"),
    "same name twice": ("a.csv", b"x,x,y\n1,2,a\n3,4,b\n", y, "several columns named 'x'"),
    "no number": ("a.csv", csv_with("25.5", "old"), strict, "'age', the first in line 7 of"),
    "missing number": ("a.csv", csv_with("25.5", ""), strict, "1 in column 'age', .* line 7 of"),
    "past float32": ("a.csv", csv_with("25.5", "1e99"), strict, "the first in line 7 of"),
    "no label": ("a.csv", b"x,y\n1,\n2,  \n3,\n", y, none_of),
    "no label but those that mean none": (
        *("a.csv", b"x,y\n1,?\n2,NaN\n3,\n", {**y, "no_label": ["?", "nan"]}, none_of),
    ),
    "one class beside blanks": ("a.csv", b"x,y\n1,a\n2,\n3,a\n", y, r"\('a' in all 2 rows\)"),
    "duplicate ids": ("a.csv", csv_with("r7", "r3"), both, "'r3' is in lin"),
    "decimal id": ("a.parquet", parquet_bytes(), {**y, "id": "height"}, "holds float, and an id"),
    "one class": ("a.csv", b"x,y\n1,a\n2,a\n", y, "one class only"),
    "a label for each": ("a.csv", lines, {"label": "id"}, "as an id does"),
    "decimal labels": ("a.csv", b"x,y\n1,0.5\n2,0.7\n3,0.5\n", y, "decimal number 0.5 in line 2"),
    "labels spelled twice": ("a.csv", b"x,y\n1,1\n2,1.0\n3,2\n", y, "one label in several ways"),
    "vector labels": ("a.parquet", parquet_bytes(), {"label": "embedding"}, "a label is a whole n"),
    "trusted maybe": ("a.csv", lines, {**both, "trusted": "job"}, "says 'nurse' in line 2"),
    "ragged vectors": (
        "a.parquet",
        with_column("embedding", ragged),
        vectors,
        "1 numbers in row 11",
    ),
    "empty vectors": (
        *("a.parquet", with_column("embedding", pa.array([[]] * N, pa.list_(pa.float32())))),
        *(vectors, "empty v"),
    ),
    "missing vector": (
        *("a.parquet", with_column("embedding", pa.array([None] + [[1.0]] * 11)), strict),
        "1 in column 'embedding', the first in row 0",
    ),
    "nan in a vector": (
        *("a.parquet", with_column("embedding", pa.array([[np.nan]] * N)), strict),
        "12 in column 'embedding'",
    ),
    "missing in parquet": (
        *("a.parquet", with_column("age", pa.array([None] + [1] * 11)), strict),
        "'age', the first in row 0",
    ),
    "a column of maps": (
        "a.parquet",
        with_column("age", pa.array([{"a": 1}] * N)),
        ages,
        "struct<a",
    ),
    "durations": (
        *("a.parquet", with_column("age", pa.array([1] * N, pa.duration("s"))), ages, "duration"),
    ),
    "pickled npy": (
        *("a.npz", npz_bytes(x=np.zeros((2, 1)), y=np.array([Trap(), 1])), y, "never unpickled"),
    ),
    "structured npy": (
        *("a.npz", npz_bytes(x=np.zeros(3, "i4,f4"), y=np.arange(3)), y, "no features of 3 rows"),
    ),
    "other length": (
        *("a.npz", npz_bytes(x=np.zeros((3, 1)), y=np.arange(2)), {**y, "features": ["x"]}),
        "one row for each",
    ),
    "nan in npz": (
        *("a.npz", npz_bytes(x=np.array([[0, np.nan], [1, 1]]), y=np.arange(2))),
        *({**y, "missing": "refuse"}, "row 0, column 1"),
    ),
    "float cube": ("a.npz", npz_bytes(x=np.zeros((2, 3, 4)), y=np.arange(2)), y, "flatten it"),
    "unknown kind": ("a.docx", b"PK", y, "of no kind that is read"),
    "image gone": ("a.csv", b"p,y\nz/1.png,a\nz/2.png,b\n", y, "line 2 of .* not there"),
    "images beside": (
        *("a.csv", b"p,q,y\n1.png,1,a\n", {**y, "features": ["p", "q"]}, "learned from alone"),
    ),
    "what to do with gaps": ("a.csv", lines, {**y, "missing": "drop"}, "choose mark, median"),
    "both ways": ("a.csv", lines, {**y, "features": ["age"], "without": ["id"]}, "exclude"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_sentence_with_the_place_and_the_remedy(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file, blob, options, says = BAD[name]
    (tmp_path / file).write_bytes(blob)
    message = read_or_refused(tmp_path, file, **options)
    assert isinstance(message, str), f"read as {message}"
    assert re.search(says, message), message
    assert not (tmp_path / "unpickled").exists()


def looped(folder: Path) -> Path:
    (folder / "a.csv").symlink_to(folder / "b.csv")
    (folder / "b.csv").symlink_to(folder / "a.csv")
    return folder / "a.csv"


def deep(folder: Path) -> Path:
    image_folder(folder / "set" / "train")
    image_folder(folder / "set" / "test")
    return folder / "set"


def broken_image(folder: Path) -> Path:
    image_folder(folder / "set")
    (folder / "set" / "cat" / "9.png").write_bytes(png_bytes()[:40])
    return folder / "set"


def not_arrow(folder: Path) -> Path:
    saved_dataset(folder / "set", table())
    (folder / "set" / "data-00000-of-00001.arrow").write_bytes(b"nothing")
    return folder / "set"


def escaping(folder: Path) -> Path:
    saved_dataset(folder / "set", table())
    (folder / "set" / "state.json").write_text(
        '{"_data_files": [{"filename": "../a.arrow"}]}', encoding="utf-8"
    )
    return folder / "set"


def made(name: str):
    def make(folder: Path) -> Path:
        (folder / name).mkdir()
        return folder / name

    return make


def mixed(folder: Path) -> list[Path]:
    (folder / "a.csv").write_text("x,y\n1,a\n2,b\n", encoding="utf-8")
    (folder / "b.csv").write_text("z,y\n1,a\n2,b\n", encoding="utf-8")
    return [folder / "a.csv", folder / "b.csv"]


def other_types(folder: Path) -> str:
    for i, kind in enumerate(("f4", "f8")):
        content = pa.table({"x": np.zeros(2, kind), "y": [0, 1]})
        (folder / f"part-{i}.parquet").write_bytes(parquet_bytes(content))
    return str(folder / "part-*.parquet")


def splits(folder: Path) -> Path:
    saved_dataset(folder / "set" / "train", table())
    (folder / "set" / "dataset_dict.json").write_text('{"splits": ["train"]}', encoding="utf-8")
    return folder / "set"


PLACES = {
    "no match": (lambda folder: str(folder / "part-*.csv"), r"no file matches .*part-\*.csv"),
    "empty path": (lambda folder: "", "'' is not a path"),
    "unprintable path": (lambda folder: "a\nb.csv", "cannot be printed; rename"),
    "null in path": (lambda folder: "a\0.csv", "is not a path"),
    "a loop": (looped, "is a link that leads nowhere"),
    "an empty folder": (made("set"), "images of 0 classes"),
    "folders": (lambda folder: [made("a")(folder), made("b")(folder)], "is a folder"),
    "one class of images": (lambda f: image_folder(f / "set", ("cat",)), "images of 1 classes"),
    "images too deep": (deep, "two levels below .*; name .*set/test"),
    "broken image": (broken_image, "9.png cannot be decoded"),
    "broken arrow": (not_arrow, "cannot be read"),
    "arrow elsewhere": (escaping, "which is not in its folder; "),
    "several splits": (splits, "the splits train; name one of them, as .*set/train"),
    "other headers": (mixed, "b.csv has the columns z, y, and .*a.csv has x, y"),
    "other types": (other_types, "part-1.parquet has other columns or types"),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_bad_place_is_one_sentence(name, tmp_path):
    make, says = PLACES[name]
    paths = make(tmp_path)
    options = {} if "image" in name or "folder" in name else {"label": "y"}
    message = read_or_refused(tmp_path, paths, **options)
    assert isinstance(message, str), f"read as {message}"
    assert re.search(says, message), message


def test_a_header_that_promises_the_moon_is_refused_before_memory_is_taken(tmp_path):
    (tmp_path / "x.npy").write_bytes(promise("(1000000000000, 64)") + bytes(64))
    (tmp_path / "y.npy").write_bytes(npy_bytes(np.arange(3)))
    label = str(tmp_path / "y.npy")
    assert "cut off" in read_or_refused(tmp_path, tmp_path / "x.npy", label=label)


def test_a_saved_data_set_that_lies_about_its_words_does_not_end_the_process(tmp_path):
    words = pa.table({"v": [1.0, 2.0, 3.0, 4.0], "id": ["aa", "bb", "cc", "dd"], "y": [0, 1, 0, 1]})
    saved_dataset(tmp_path / "set", words)
    (file,) = (tmp_path / "set").glob("*.arrow")
    begins = struct.pack("<5i", 0, 2, 4, 6, 8)
    blob = file.read_bytes()
    assert blob.count(begins) == 1
    file.write_bytes(blob.replace(begins, struct.pack("<5i", 0, 1 << 30, 4, 6, 8)))
    assert "cannot be read" in read_or_refused(tmp_path, tmp_path / "set", label="y", id="id")


def test_a_workbook_past_all_workbooks_is_refused(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["v", "y"], *([i % 7, "ab"[i % 2]] for i in range(60))):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert len(read_data(tmp_path / "a.xlsx", label="y")) == 60
    monkeypatch.setattr(excel, "MAX_ROWS", 60)  # and 61 with the names of the columns
    assert "more than 60 rows" in read_or_refused(tmp_path, tmp_path / "a.xlsx", label="y")
    monkeypatch.undo()
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 1, "SC_PHYS_PAGES": 1000}.get)
    assert "would take 0.0 GB" in read_or_refused(tmp_path, tmp_path / "a.xlsx", label="y")


def test_an_archive_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    (tmp_path / "a.npz").write_bytes(npz_bytes(x=np.zeros((100_000, 10)), y=np.arange(100_000) % 2))
    assert (tmp_path / "a.npz").stat().st_size < 200_000
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1000}.get)
    assert "would take 0.0 GB" in read_or_refused(tmp_path, tmp_path / "a.npz", label="y")


def test_five_thousand_columns_are_read(tmp_path):
    names = ",".join(f"c{i}" for i in range(5_000))
    lines = "".join(f"{label}{',0.5' * 5_000}\n" for label in "abab")
    (tmp_path / "wide.csv").write_text(f"y,{names}\n{lines}", encoding="utf-8")
    data = read_or_refused(tmp_path, tmp_path / "wide.csv", label="y")
    assert data.x.shape == (4, 5_000)


FUZZED = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
VALID = {
    "a.csv": (CSV.encode(), {"label": "y", "id": "id"}),
    "a.parquet": (parquet_bytes(), {"label": "y", "id": "id", "trusted": "checked"}),
    "a.npz": (npz_bytes(), {"label": "y"}),
}


def damage(blob: bytes, at: int, put: bytes, cut: int) -> bytes:
    at %= len(blob)
    return (blob[:at] + put + blob[at + len(put) :])[: len(blob) - cut % len(blob)]


@settings(FUZZED, max_examples=150)
@given(
    st.sampled_from(sorted(VALID)),
    st.integers(0, 5000),
    st.binary(max_size=6),
    st.one_of(st.just(0), st.integers(0, 5000)),
)
@example("a.csv", 0, b"\xef\xbb\xbf", 0)
def test_a_damaged_file_is_read_or_refused_and_nothing_else(tmp_path, name, at, put, cut):
    blob, options = VALID[name]
    (tmp_path / name).write_bytes(damage(blob, at, put, cut))
    assert isinstance(read_or_refused(tmp_path, tmp_path / name, **options), LabelledData | str)


@settings(FUZZED, max_examples=100)
@given(st.text(alphabet="ab1.,;\"\n\r\t' é\0", max_size=60), st.sampled_from(["a", "b", "y", ""]))
def test_any_text_as_csv_is_read_or_refused_and_nothing_else(tmp_path, text, label):
    (tmp_path / "a.csv").write_bytes(text.encode())
    data = read_or_refused(tmp_path, tmp_path / "a.csv", label=label)
    assert isinstance(data, LabelledData | str)


@settings(FUZZED, max_examples=40)
@given(st.integers(0, 500), st.binary(max_size=6), st.one_of(st.just(0), st.integers(0, 500)))
def test_a_damaged_image_is_read_or_refused_and_nothing_else(tmp_path, at, put, cut):
    if not (tmp_path / "set").exists():
        image_folder(tmp_path / "set")
    (tmp_path / "set" / "cat" / "0.png").write_bytes(damage(png_bytes(), at, put, cut))
    assert isinstance(read_or_refused(tmp_path, tmp_path / "set"), LabelledData | str)


def raising(error):
    def read(_):
        raise error

    return read


def test_the_check_lets_no_other_exception_pass(tmp_path):
    with pytest.raises(KeyError):
        read_or_refused(tmp_path, "a.csv", raising(KeyError("y")))


@pytest.mark.parametrize(
    "message", ["a.csv is bad;\nsee line 2 of it", "a.csv is bad and nobody knows", "; no"]
)
def test_the_check_wants_one_line_with_a_remedy(tmp_path, message):
    with pytest.raises(AssertionError):
        read_or_refused(tmp_path, "a.csv", raising(InputError(message)))


def test_the_check_notices_a_file_that_was_written(tmp_path):
    def writes(path):
        Path(path).write_text("changed", encoding="utf-8")
        raise InputError("a.csv is bad; correct the second line")

    with pytest.raises(AssertionError):
        read_or_refused(tmp_path, tmp_path / "a.csv", writes)


def test_an_error_that_no_list_names_would_show(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "UNREADABLE", (OSError,))
    (tmp_path / "a.npz").write_bytes(npz_bytes()[:-40])
    with pytest.raises(zipfile.BadZipFile):
        read_or_refused(tmp_path, tmp_path / "a.npz", label="y")
