"""One contract for every format in the registry, packed files, sheets, lines of JSON, storage."""

import gzip
import importlib
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs

from dris.core.errors import InputError
from dris.data.formats import BY_NAME, FORMATS, format_of, suffix_for
from dris.data.labelled import Change
from dris.data.outputs import check_columns, columns_to_show, show_rows, write_data
from dris.data.reader import read_data
from made_tables import (
    CSV,
    image_folder,
    npy_bytes,
    npz_bytes,
    saved_dataset,
    write_columns,
    zipped,
)

LABELS = ["yes", "no", "no", "yes", "no", "yes", "yes", "no"]
ROWS = {
    "number": [123456789, 2, 3, 4, 5, 6, 7, 80],
    "said": [f"a longer text about thing {i}" for i in range(8)],
    "y": LABELS,
}


def table_file(suffix):
    return lambda folder: (write_columns(folder / f"a.{suffix}", ROWS), {"label": "y"})


def npz_file(folder):
    (folder / "a.npz").write_bytes(npz_bytes(x=np.arange(16.0).reshape(8, 2), y=np.array(LABELS)))
    return folder / "a.npz", {"label": "y"}


def npy_file(folder):
    (folder / "x.npy").write_bytes(npy_bytes(np.arange(16.0).reshape(8, 2)))
    (folder / "y.npy").write_bytes(npy_bytes(np.array(LABELS)))
    return folder / "x.npy", {"label": str(folder / "y.npy")}


MADE = {
    "csv": table_file("csv"),
    "parquet": table_file("parquet"),
    "jsonlines": table_file("jsonl"),
    "excel": table_file("xlsx"),
    "npz": npz_file,
    "npy": npy_file,
    "huggingface": lambda to: (saved_dataset(to / "set", pa.table(ROWS)), {"label": "y"}),
    "images": lambda to: (image_folder(to / "set", ("yes", "no"), each=4), {}),
}


def test_every_format_is_tested():
    assert [entry.name for entry in FORMATS if entry.name not in MADE] == []


@pytest.mark.parametrize("name", MADE)
def test_what_a_format_reads_it_writes_and_reads_again(name, tmp_path):
    path, options = MADE[name](tmp_path)
    data = read_data(path, **options)
    assert data.origin.format == name
    keep = [0, 1, 2, 3, 5]
    labels = data.labels.copy()
    labels[2] = 1 - labels[2]
    out = write_data(data, tmp_path / f"kept{suffix_for(data)}", positions=keep, labels=labels)
    again = {"label": options.get("label", "label")}
    again = {"label": "y"} if name == "npy" else again
    assert read_data(out, **again).given().tolist() == data.given(labels)[keep].tolist()


def swap_with_other_rows(name, tmp_path, monkeypatch):
    """A function that puts the same rows in reverse in place of all files, as an editor saves."""
    with monkeypatch.context() as m:
        for column, cells in ROWS.items():
            m.setitem(ROWS, column, cells[::-1])
        m.setattr(f"{__name__}.LABELS", LABELS[::-1])
        other, _ = MADE[name](tmp_path / "other")
    root = other if other.is_dir() else other.parent
    if name == "images":
        (root / "yes").rename(root / "tmp")
        (root / "no").rename(root / "yes")
        (root / "tmp").rename(root / "no")

    def swap():
        for file in root.rglob("*.*"):
            file.replace(tmp_path / file.relative_to(tmp_path / "other"))

    return swap


def call_before(monkeypatch, where, action):
    """Have something happen in the middle of the work."""
    module, name = where.rsplit(".", 1)
    whole = getattr(importlib.import_module(module), name)
    monkeypatch.setattr(where, lambda *args, **more: (action(), whole(*args, **more))[1])


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("when", ["reading", "writing", "never"])
def test_files_that_are_saved_during_the_work_are_refused(name, when, tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    path, options = MADE[name](tmp_path)
    done = []
    swap = swap_with_other_rows(name, tmp_path, monkeypatch)
    places = ("tables.label_columns.labels_of", "images.image_files.decode_image")
    if when == "reading":
        for where in places:
            once = lambda: done or (swap(), done.append(1))  # noqa: E731
            call_before(monkeypatch, f"dris.data.{where}", once)
        with pytest.raises(InputError, match="has changed since"):
            read_data(path, **options)
        return
    data = read_data(path, **options)
    out = tmp_path / f"kept{suffix_for(data)}"
    if when == "never":
        assert write_data(data, out).exists()
        return
    entry = BY_NAME[name]
    late = replace(entry, write=lambda *args: (swap(), entry.write(*args))[1])
    monkeypatch.setitem(BY_NAME, name, late)
    says = "was read with another label" if name in ("csv", "jsonlines") else "changed since"
    with pytest.raises(InputError, match=says):
        write_data(data, out)
    assert not out.exists()
    if name not in ("images", "npz", "npy"):
        with pytest.raises(InputError, match="changed since"):
            show_rows(data, np.arange(3))
    monkeypatch.setattr(Change, "refuse_other_row", lambda *_: None)
    monkeypatch.setitem(BY_NAME, name, entry)
    with pytest.raises(InputError, match="has changed since"):
        write_data(data, out)
    assert not out.exists()


@pytest.mark.parametrize("name", MADE)
def test_labels_alone_are_those_of_the_whole_and_cost_no_features(name, tmp_path, monkeypatch):
    path, options = MADE[name](tmp_path)
    whole = read_data(path, **options)
    for where in ("tables.label_columns.encode", "images.image_files.decode_image"):
        monkeypatch.setattr(f"dris.data.{where}", None)  # calling it would fail
    light = read_data(path, **options, features=[])
    assert light.x.shape == (len(whole), 0)
    assert light.labels.tolist() == whole.labels.tolist()
    assert light.ids.tolist() == whole.ids.tolist()
    assert replace(light.origin, reading=whole.origin.reading) == whole.origin


@pytest.mark.parametrize("name", ["csv", "parquet", "jsonlines", "excel", "huggingface"])
def test_a_person_sees_every_column_with_numbers_whole_and_text_in_full(name, tmp_path):
    path, options = MADE[name](tmp_path)
    data = read_data(path, **options, without=["number"])
    seen = show_rows(data, np.array([0, 7]))
    assert list(seen) == columns_to_show(data)
    assert seen["number"] == ["123456789", "80"]
    assert seen["said"] == [ROWS["said"][0], ROWS["said"][7]]


def test_columns_are_shown_by_name_and_one_that_is_not_there_is_refused():
    frame = pa.table({"a": [1, 2, 3, 4], "all": ["w", "x", "y", "z"], "y": ["p", "q", "p", "q"]})
    data = read_data(frame, label="y")
    assert check_columns(data, []) == []
    assert check_columns(data, ["all"]) == ["all"]  # a column of that name is that column
    assert show_rows(data, np.array([2]), ["all"]) == {"all": ["y"]}
    without = read_data(
        frame.drop_columns(["all"]).append_column("b", pa.array([1, 5, 2, 7])), label="y"
    )
    assert check_columns(without, ["all"]) == ["a", "b"]
    with pytest.raises(InputError, match="no column 'c' to show; there are a, b"):
        check_columns(without, ["a", "c"])


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("a.csv.gz", gzip.compress),
        ("a.csv.zip", zipped),
        ("a.zip", zipped),
        ("b.csv.gz", lambda blob: gzip.compress(b"\xef\xbb\xbf" + blob)),
    ],
)
def test_packed_files_are_what_is_inside_and_kept_lines_keep_their_bytes(name, pack, tmp_path):
    (tmp_path / "plain.csv").write_text(CSV, encoding="utf-8")
    (tmp_path / name).write_bytes(pack(CSV.encode()))
    data = read_data(tmp_path / name, label="y", id="id")
    plain = read_data(tmp_path / "plain.csv", label="y", id="id")
    assert np.array_equal(data.x, plain.x)
    assert data.ids.tolist() == plain.ids.tolist()
    out = write_data(data, tmp_path / "kept.csv", positions=[0, 5])
    lines = CSV.splitlines(keepends=True)
    assert out.read_text(encoding="utf-8").removeprefix("\ufeff") == lines[0] + lines[1] + lines[6]


def test_a_broken_or_empty_sheet_is_one_sentence(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="pip install 'dris[excel]'")
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match="whole Excel workbook"):
        read_data(tmp_path / "a.xlsx", label="y")
    openpyxl.Workbook().save(tmp_path / "b.xlsx")
    with pytest.raises(InputError, match="is empty"):
        read_data(tmp_path / "b.xlsx", label="y")


def test_titles_above_the_names_of_a_sheet_stay_where_they_are(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="pip install 'dris[excel]'")
    book = openpyxl.Workbook()
    lines = [["Survey 2024"], [], ["age", "said", "left"], [31, "fine", "no"], [None] * 3]
    for line in [*lines, [44, "tired", "yes"], [52, "bored", "no"]]:
        book.active.append(line)
    book.save(tmp_path / "a.xlsx")
    data = read_data(tmp_path / "a.xlsx", label="left")
    assert data.origin.columns == ("age", "said", "left")
    assert data.given().tolist() == ["no", "yes", "no"]
    assert show_rows(data, np.array([1])) == {"age": ["44"], "said": ["tired"]}
    out = write_data(data, tmp_path / "b.xlsx", positions=[1, 2])
    assert openpyxl.load_workbook(out).active["A1"].value == "Survey 2024"
    assert read_data(out, label="left").given().tolist() == ["yes", "no"]


def test_lines_of_json_that_stay_keep_their_bytes(tmp_path):
    text = '{"y": "a",   "x": 1}\n\n{"x": 2.50, "y":"b"}\n{"x": 3, "y": "a"}\n'
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    data = read_data(tmp_path / "a.jsonl", label="y")
    out = write_data(data, tmp_path / "b.jsonl", positions=[0, 1])
    assert out.read_text(encoding="utf-8") == '{"y": "a",   "x": 1}\n{"x": 2.50, "y":"b"}\n'


def test_pictures_in_class_folders_with_a_table_beside_them(tmp_path):
    root = image_folder(tmp_path / "set")
    (root / "notes.csv").write_text("camera,place\nX,here\n", encoding="utf-8")
    assert read_data(root).classes == ("cat", "dog")
    rows = "".join(f"{c}/{i}.png,{c}!\n" for c in ("cat", "dog") for i in range(3))
    (root / "notes.csv").write_text("file,kind\n" + rows, encoding="utf-8")
    data = read_data(root, label="kind")
    assert data.classes == ("cat!", "dog!")
    assert data.x.ndim == 4


def test_an_address_of_this_machine_is_the_file_itself(tmp_path):
    (tmp_path / "a.csv").write_text(CSV, encoding="utf-8")
    data = read_data((tmp_path / "a.csv").as_uri(), label="y", id="id")
    assert data.origin.files == (tmp_path / "a.csv",)


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """A storage whose files lie in a folder, behind addresses of their own."""
    (tmp_path / "storage").mkdir()
    system = fs.SubTreeFileSystem(str(tmp_path / "storage"), fs.LocalFileSystem())

    def from_uri(address):
        scheme, _, inner = address.partition("://")
        if scheme != "fake":
            raise OSError(f"no such storage: {scheme}")
        return system, inner

    monkeypatch.setattr(fs, "FileSystem", type("FakeFileSystem", (), {"from_uri": from_uri}))
    return tmp_path / "storage"


def test_files_in_storage_are_fetched_once_and_again_when_they_change(bucket, tmp_path):
    (bucket / "a.csv").write_text(CSV, encoding="utf-8")
    data = read_data("fake://a.csv", label="y", id="id")
    assert len(data) == 12
    (cached,) = data.origin.files
    before = cached.stat().st_mtime_ns
    read_data("fake://a.csv", label="y", id="id")
    assert cached.stat().st_mtime_ns == before
    (bucket / "a.csv").write_text(CSV + "r12,3.5,cook,no\n", encoding="utf-8")
    assert len(read_data("fake://a.csv", label="y", id="id")) == 13
    out = write_data(data, tmp_path / "kept.csv", positions=[1])
    assert out.read_text(encoding="utf-8").splitlines()[1] == CSV.splitlines()[2]


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("fake://absent.csv", "does not exist; check the address"),
        ("other://a.csv", "cannot be read .*check the address, your credentials and the network"),
    ],
)
def test_what_storage_lacks_is_one_sentence(bucket, address, says):
    with pytest.raises(InputError, match=says):
        read_data(address, label="y")


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """The Hugging Face Hub as a folder, behind the name by which Arrow asks for it."""
    local = pytest.importorskip("fsspec.implementations.dirfs")
    known = pytest.importorskip("fsspec.registry")._registry
    (tmp_path / "hub").mkdir()

    class Hub(local.DirFileSystem):
        protocol, cachable, reachable = "hf", False, True

        def __init__(self):
            if not self.reachable:
                raise RuntimeError("Name or service not known")
            super().__init__(str(tmp_path / "hub"))

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(HfFileSystem=Hub))
    yield tmp_path / "hub"
    known.pop("hf", None)


def test_a_data_set_of_the_hub_is_read_by_its_address(hub, monkeypatch):
    folder = hub / "datasets" / "ana" / "cooks"
    folder.mkdir(parents=True)
    (folder / "train.csv").write_text(CSV, encoding="utf-8")
    for address in ("hf://datasets/ana/cooks/train.csv", "hf://datasets/ana/cooks"):
        data = read_data(address, label="y", id="id")
        assert len(data) == 12
        assert data.origin.files[0].is_file()
    monkeypatch.setattr(sys.modules["huggingface_hub"].HfFileSystem, "reachable", False)
    with pytest.raises(InputError, match=r"not known.*and the network"):
        read_data("hf://datasets/ana/cooks", label="y")


def test_the_hub_without_its_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"'\.\[huggingface\]'"):
        read_data("hf://datasets/ana/cooks", label="y")


def test_a_file_of_no_format_names_those_there_are(tmp_path):
    with pytest.raises(InputError, match="read are Parquet, CSV, JSON lines, Excel"):
        format_of(tmp_path / "a.docx")
