"""Transition matrices from a file: by name, in any order, or refused in one sentence."""

import pytest

from dris.core.errors import InputError
from dris.data.transition_matrix import read_matrix


def test_rows_and_columns_are_found_by_their_names_whatever_their_order(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("true,10,2\n10,0.75,0.25\n2,0,1\n", encoding="utf-8")
    assert read_matrix(path, (2, 10)) == ((1.0, 0.0), (0.25, 0.75))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "every class"),
        ("true,a,b,b\na,1,0,0\nb,0,1,0\n", "every class"),
        ("true,a,b\na,1,0\nb,0,x\n", "row 'b' of .* numbers"),
        ("true,a,b\na,1,0\nb,0\n", "row 'b' of .* 1 cells"),
        ("true,a,b\na,1,0\nb,0.5,0.4\n", "row 'b' of .* sum to 0.9"),
        ("true,a,b\na,1,0\nb,1.5,-0.5\n", "row 'b' of .* shares"),
    ],
)
def test_a_matrix_that_cannot_be_is_one_sentence(tmp_path, text, says):
    path = tmp_path / "m.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_matrix(path, ("a", "b"))


def test_a_file_that_is_not_there_or_no_text_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="is no file"):
        read_matrix(tmp_path / "absent.csv", ("a", "b"))
    for damaged in (b"\xff\xfe\x00", b'true,a,b\na,1,0\n"b,0,1\n'):
        (tmp_path / "m.csv").write_bytes(damaged)
        with pytest.raises(InputError, match="cannot be read"):
            read_matrix(tmp_path / "m.csv", ("a", "b"))
