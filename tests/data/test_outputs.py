"""What is written: the same rows, bytes and types, whole or not at all."""

import csv
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dris.core.errors import InputError
from dris.data.formats import suffix_for
from dris.data.labelled import LabelledData
from dris.data.outputs import ScoreFile, write_data, write_ids, write_scores
from dris.data.reader import read_data
from dris.data.tables.csvfile import replace_cell
from dris.data.writer import Writer
from made_tables import CSV, N, contents, image_folder, npy_bytes, npz_bytes, saved_dataset, table
from random_csv import check_random_csv
from score_tables import read_scores


@pytest.fixture
def from_csv(tmp_path):
    (tmp_path / "a.csv").write_text(CSV, encoding="utf-8")
    return read_data(tmp_path / "a.csv", label="y", id="id")


@pytest.fixture
def from_parquet(tmp_path):
    made = table().replace_schema_metadata({"made": "by hand"})
    pq.write_table(made, tmp_path / "a.parquet", compression="zstd", row_group_size=5)
    return read_data(tmp_path / "a.parquet", label="y", id="id")


ODD = b'\xef\xbb\xbfid;"x";y\r\n\r\n"1";0.10;"a;""b"""\r\n2;1e0; c\r\n3;"7";"d\r\ne"\r\n4;8;" c"'


def test_kept_lines_of_a_csv_keep_their_bytes(tmp_path):
    (tmp_path / "a.csv").write_bytes(ODD)
    data = read_data(tmp_path / "a.csv", label="y", id="id")
    assert data.x.ravel().tolist() == [np.float32(0.1), 1, 7, 8]
    assert data.given().tolist() == ['a;"b"', " c", "d\r\ne", " c"]
    out = write_data(data, tmp_path / "b.csv", positions=[0, 2])
    assert out.read_bytes() == (b'\xef\xbb\xbfid;"x";y\r\n"1";0.10;"a;""b"""\r\n3;"7";"d\r\ne"\r\n')
    whole = write_data(data, tmp_path / "c.csv")
    assert whole.read_bytes() == ODD.replace(b"\r\n\r\n", b"\r\n") + b"\r\n"


def test_added_cells_and_other_labels_change_nothing_else(tmp_path, from_csv):
    columns = {"score": np.arange(N) / 4, "kept": np.arange(N) < 2, "why": np.array(["a,b"] * N)}
    labels = from_csv.labels.copy()
    labels[1] = 0
    out = write_data(from_csv, tmp_path / "b.csv", columns=columns, labels=labels)
    lines = out.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "id,age,job,y,score,kept,why"
    assert lines[1] == 'r0,20.5,nurse,no,0.0,true,"a,b"'
    assert lines[2] == 'r1,21.5,cook,no,0.25,true,"a,b"'
    assert lines[3] == 'r2,22.5,nurse,yes,0.5,false,"a,b"'
    again = read_data(out, label="y", id="id", features=["age"])
    assert (again.labels == labels).all()


def test_parquet_keeps_schema_metadata_and_compression(tmp_path, from_parquet):
    out = write_data(from_parquet, tmp_path / "b.parquet", positions=[1, 7, 11])
    before, after = pq.read_table(tmp_path / "a.parquet"), pq.read_table(out)
    assert after.schema.equals(before.schema, check_metadata=True)
    assert after.schema.metadata == {b"made": b"by hand"}
    assert after.to_pylist() == before.take([1, 7, 11]).to_pylist()
    codec = pq.ParquetFile(out).metadata.row_group(0).column(0).compression
    assert codec == "ZSTD"


def test_parquet_gains_columns_and_other_labels(tmp_path, from_parquet):
    labels = 1 - from_parquet.labels
    out = write_data(from_parquet, tmp_path / "b.parquet", columns={"w": np.ones(N)}, labels=labels)
    after = pq.read_table(out)
    assert after.schema.names == [*table().schema.names, "w"]
    assert after["y"].type == table()["y"].type
    assert after["y"].to_pylist() == from_parquet.given(labels).tolist()
    assert after.drop_columns(["w", "y"]).equals(table().drop_columns(["y"]))


def test_npz_and_npy_give_npz_with_the_same_kinds(tmp_path):
    arrays = {"x": np.arange(8, dtype=np.int16).reshape(4, 2), "y": np.array(["u", "v"] * 2)}
    (tmp_path / "a.npz").write_bytes(npz_bytes(**arrays, other=np.arange(3), one=np.array(5)))
    data = read_data(tmp_path / "a.npz", label="y")
    out = np.load(write_data(data, tmp_path / "b.npz", positions=[1, 2], labels=[0, 0, 0, 0]))
    assert out["x"].dtype == np.int16
    assert out["x"].tolist() == [[2, 3], [4, 5]]
    assert out["y"].tolist() == ["u", "u"]
    assert (out["other"].tolist(), out["one"].tolist()) == ([0, 1, 2], 5)
    (tmp_path / "x.npy").write_bytes(npy_bytes(arrays["x"]))
    (tmp_path / "l.npy").write_bytes(npy_bytes(np.array([5, 6, 5, 6], np.uint8)))
    data = read_data(tmp_path / "x.npy", label=str(tmp_path / "l.npy"))
    out = np.load(write_data(data, tmp_path / "c.npz", positions=[3], labels=[0, 1, 0, 0]))
    assert out["l"].tolist() == [5]
    assert out["l"].dtype == np.uint8


def test_a_folder_of_images_gives_a_list_that_is_read_as_the_same_images(tmp_path):
    data = read_data(image_folder(tmp_path / "set"))
    (tmp_path / "out").mkdir()
    out = write_data(data, tmp_path / "out" / "kept.csv", positions=[1, 4])
    assert out.read_text(encoding="utf-8") == (
        "path,label,id\n../set/cat/1.png,cat,cat/1.png\n../set/dog/1.png,dog,dog/1.png\n"
    )
    again = read_data(out, id="id", allow_outside=True)
    assert again.x.tolist() == data.x[[1, 4]].tolist()
    assert again.ids.tolist() == data.ids[[1, 4]].tolist()


def test_a_saved_data_set_gives_parquet(tmp_path):
    data = read_data(saved_dataset(tmp_path / "set", table(), parts=2), label="y", id="id")
    out = write_data(data, tmp_path / "b.parquet", positions=[0, 9])
    assert pq.read_table(out).equals(table().take([0, 9]))


def test_ids_are_one_a_line_with_what_belongs_to_them(tmp_path, from_csv):
    out = write_ids(from_csv, tmp_path / "ids.csv", positions=[2, 5], columns={"w": np.arange(N)})
    assert out.read_text(encoding="utf-8") == "id,w\nr2,2\nr5,5\n"
    write_ids(from_csv, tmp_path / "y.csv", columns={"y": np.arange(N)})  # a column of the data
    with pytest.raises(InputError, match="already"):
        write_ids(from_csv, tmp_path / "id.csv", columns={"id": np.arange(N)})


def refused(folder, says, write, *arguments, **options):
    before = contents(folder)
    with pytest.raises(InputError, match=says):
        write(*arguments, **options)
    assert contents(folder) == before
    assert not list(folder.glob(".*.tmp"))


def test_nothing_is_replaced_without_force_and_the_data_itself_never(tmp_path, from_csv):
    theirs, ours = tmp_path / "b.csv", tmp_path / "c.csv"
    theirs.write_text("precious", encoding="utf-8")
    for force in (False, True):
        for write in (write_data, write_ids):
            refused(tmp_path, "b.csv was not written by dris", write, from_csv, theirs, force=force)
            says = "a.csv is an input of this command and is never replaced"
            refused(tmp_path, says, write, from_csv, tmp_path / "a.csv", force=force)
    write_ids(from_csv, ours)
    refused(tmp_path, "c.csv exists", write_data, from_csv, ours)
    assert write_data(from_csv, ours, force=True).read_text(encoding="utf-8") == CSV


def test_a_failure_in_the_middle_leaves_nothing(tmp_path, from_parquet, monkeypatch):
    def fails(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", fails)
    refused(tmp_path, "No space left", write_data, from_parquet, tmp_path / "b.parquet")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"positions": []}, "keep one at least"),
        ({"columns": {"age": np.zeros(N)}}, "columns named age already"),
    ],
)
def test_a_change_that_does_not_fit_is_refused(tmp_path, from_csv, options, says):
    refused(tmp_path, says, write_data, from_csv, tmp_path / "b.csv", **options)


def test_data_without_a_file_has_nothing_to_be_written_from(tmp_path):
    data = LabelledData.of(np.eye(2), [0, 1], classes=("a", "b"))
    refused(tmp_path, "was not read from a file", write_data, data, tmp_path / "b.csv")


def test_random_csv_files_are_read_and_written_as_pythons_csv_does(tmp_path, monkeypatch):
    assert [wrong for seed in range(30) if (wrong := check_random_csv(seed, tmp_path))] == []
    monkeypatch.setattr(
        "random_csv.write_data",
        lambda data, path, positions: write_data(
            data, path, positions=positions, labels=1 - data.labels
        ),
    )
    assert check_random_csv(0, tmp_path)  # the twin: other labels are seen


def read_back(body: str, separator: str = ",") -> list[list[str]]:
    return [*csv.reader(io.StringIO(body, newline=""), delimiter=separator)]


@pytest.mark.parametrize(
    ("body", "at", "expected"),
    [
        ('"two\nlines",07,"no"', 2, '"two\nlines",07,yes'),
        ('no,"007",1', 0, 'yes,"007",1'),
        ('"a ""b"", c",no', 1, '"a ""b"", c",yes'),
        ("1,no,", 1, "1,yes,"),
    ],
)
def test_all_other_cells_keep_their_bytes(body, at, expected):
    cells = read_back(body)[0]
    cells[at] = "yes"
    assert replace_cell(body, cells, at, ",") == expected


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_table_with_tabs_keeps_its_name(tmp_path, name):
    tab = "\t" if name.endswith(".tsv") else ","
    lines = [tab.join(row) for row in (("x", "label"), ("1", "a"), ("2", "b"), ("3", "a"))]
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert suffix_for(read_data(tmp_path / name)) == name[1:]


OLD, NEW = np.array([True, False, False, True]), np.array([True, True, False, False])


def marked_csv(folder):
    text = "x,y,ok\n1,a,yes\n2,b,\n3,a,0\n4,b,true\n"
    (folder / "d.csv").write_text(text, encoding="utf-8")
    return folder / "d.csv"


def marked_parquet(kind):
    def write(folder):
        marks = pa.array(OLD).cast(kind)
        table = pa.table({"x": [1.0, 2, 3, 4], "y": list("abab"), "ok": marks})
        pq.write_table(table, folder / "d.parquet")
        return folder / "d.parquet"

    return write


def marked_npz(dtype):
    def write(folder):
        x = np.arange(8.0).reshape(4, 2)
        words = np.where(OLD, "yes", "no") if dtype is str else OLD.astype(dtype)
        np.savez(folder / "d.npz", x=x, y=np.array([0, 1, 0, 1]), ok=words)
        return folder / "d.npz"

    return write


MARKED = {
    "csv": marked_csv,
    "parquet": marked_parquet(pa.bool_()),
    "parquet of numbers": marked_parquet(pa.int8()),
    "parquet of text": marked_parquet(pa.string()),
    "npz": marked_npz(bool),
    "npz of numbers": marked_npz(np.int64),
    "npz of text": marked_npz(str),
}


@pytest.mark.parametrize("made", list(MARKED))
def test_replaced_marks_are_read_back_and_all_else_stays(tmp_path, made):
    path = MARKED[made](tmp_path)
    data = read_data(path, label="y", trusted="ok")
    assert data.trusted.tolist() == OLD.tolist()  # the twin: the file said otherwise before
    out = write_data(
        data, tmp_path / f"new{path.suffix}", replaced={"ok": NEW}, positions=[0, 1, 3]
    )
    new = read_data(out, label="y", trusted="ok")
    assert new.trusted.tolist() == NEW[[0, 1, 3]].tolist()
    assert np.array_equal(new.x, data.x[[0, 1, 3]])
    assert new.given().tolist() == data.given()[[0, 1, 3]].tolist()


SCORES = ScoreFile(
    np.array(["c", "a", "b"]),
    {"aum": np.array([0.1, -1 / 3, 1e-300]), "loss": np.array([1.0, 2, 3])},
    {"canary": np.array([False, True, False])},
    {"seed": 3},
    {"suggested": np.array(["no", "yes", "<b>"])},
)


def test_scores_come_back_to_the_last_bit(tmp_path):
    again = read_scores(write_scores(SCORES, tmp_path / "s.parquet", writer=Writer()))
    assert again.ids.tolist() == ["c", "a", "b"]
    assert again.scores["aum"].tolist() == [0.1, -1 / 3, 1e-300]
    assert again.flags["canary"].tolist() == [False, True, False]
    assert again.note == {"seed": 3}
    assert again.texts["suggested"].tolist() == ["no", "yes", "<b>"]


def test_the_same_scores_are_the_same_bytes_and_any_parquet_reader_opens_them(tmp_path):
    one, two = (write_scores(SCORES, tmp_path / name, writer=Writer()) for name in "ab")
    assert one.read_bytes() == two.read_bytes()
    assert pq.read_table(one).schema.names == ["id", "aum", "loss", "canary", "suggested"]
