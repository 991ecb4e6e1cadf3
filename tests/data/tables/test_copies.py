"""Records of CSV written anew: only the changed cell differs, whatever the others hold."""

import csv
import io

import pytest

from dris import read_data
from dris.data.formats import suffix_for
from dris.data.tables.csvfile import record_bytes, replace_cell


def read_back(body: bytes, separator: str = ",") -> list[list[str]]:
    return [*csv.reader(io.StringIO(body.decode(), newline=""), delimiter=separator)]


@pytest.mark.parametrize("cell", ["two\nlines", "two\r\nlines", 'a "quote"', "a,b", "\r", "plain"])
def test_whatever_a_cell_holds_is_read_back(cell):
    assert read_back(record_bytes([cell, "x"], ",") + b"\n") == [[cell, "x"]]


@pytest.mark.parametrize(
    ("body", "at", "expected"),
    [
        (b'"two\nlines",07,"no"', 2, b'"two\nlines",07,yes'),
        (b'no,"007",1', 0, b'yes,"007",1'),
        (b'"a ""b"", c",no', 1, b'"a ""b"", c",yes'),
        (b"1,no,", 1, b"1,yes,"),
    ],
)
def test_all_other_cells_keep_their_bytes(body, at, expected):
    cells = read_back(body)[0]
    cells[at] = "yes"
    assert replace_cell(body, cells, at, ",") == expected


def test_quotes_inside_a_cell_that_is_not_quoted_have_the_record_written_anew():
    body = b'5" pipe,no'
    cells = read_back(body)[0]
    cells[1] = "yes"
    assert read_back(replace_cell(body, cells, 1, ",")) == [['5" pipe', "yes"]]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_table_with_tabs_keeps_its_name(tmp_path, name):
    tab = "\t" if name.endswith(".tsv") else ","
    lines = [tab.join(row) for row in (("x", "label"), ("1", "a"), ("2", "b"), ("3", "a"))]
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert suffix_for(read_data(tmp_path / name)) == name[1:]
