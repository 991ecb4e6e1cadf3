"""Columns of yes and no that are replaced when data is written again."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dris.core.errors import InputError
from dris.data.outputs import write_data
from dris.data.reader import read_data

OLD, NEW = np.array([True, False, False, True]), np.array([True, True, False, False])


def csv_file(folder):
    text = "x,y,ok\n1,a,yes\n2,b,\n3,a,0\n4,b,true\n"
    (folder / "d.csv").write_text(text, encoding="utf-8")
    return folder / "d.csv"


def parquet_file(kind):
    def write(folder):
        marks = pa.array(OLD).cast(kind)
        table = pa.table({"x": [1.0, 2, 3, 4], "y": list("abab"), "ok": marks})
        pq.write_table(table, folder / "d.parquet")
        return folder / "d.parquet"

    return write


def npz_file(dtype):
    def write(folder):
        x = np.arange(8.0).reshape(4, 2)
        words = np.where(OLD, "yes", "no") if dtype is str else OLD.astype(dtype)
        np.savez(folder / "d.npz", x=x, y=np.array([0, 1, 0, 1]), ok=words)
        return folder / "d.npz"

    return write


MADE = {
    "csv": csv_file,
    "parquet": parquet_file(pa.bool_()),
    "parquet of numbers": parquet_file(pa.int8()),
    "parquet of text": parquet_file(pa.string()),
    "npz": npz_file(bool),
    "npz of numbers": npz_file(np.int64),
    "npz of text": npz_file(str),
}


@pytest.mark.parametrize("made", list(MADE))
def test_replaced_marks_are_read_back_and_all_else_stays(tmp_path, made):
    path = MADE[made](tmp_path)
    data = read_data(path, label="y", trusted="ok")
    assert data.trusted.tolist() == OLD.tolist()  # the twin: the file said otherwise before
    out = write_data(
        data, tmp_path / f"new{path.suffix}", replaced={"ok": NEW}, positions=[0, 1, 3]
    )
    new = read_data(out, label="y", trusted="ok")
    assert new.trusted.tolist() == NEW[[0, 1, 3]].tolist()
    assert np.array_equal(new.x, data.x[[0, 1, 3]])
    assert new.given().tolist() == data.given()[[0, 1, 3]].tolist()


@pytest.mark.parametrize("replaced", [{"no": NEW}, {"ok": NEW[:2]}, {"ok": NEW.astype(int)}])
def test_what_is_no_column_or_no_mark_is_refused(tmp_path, replaced):
    data = read_data(csv_file(tmp_path), label="y", trusted="ok")
    with pytest.raises(InputError, match="must be a column of the data"):
        write_data(data, tmp_path / "new.csv", replaced=replaced)
    assert not (tmp_path / "new.csv").exists()
