"""Messages name parameters, which the command line shows as its options."""

import ast
import re
from pathlib import Path

import pytest

from dris.core.errors import as_options, parameter
from dris.data.reader import read_data

SOURCE = Path(__file__).parent.parent / "src/dris"
FLAG = re.compile(r"(?<![\w-])--[a-z]")
OTHER_PROGRAMS = re.compile(r"ray start")


def flags_in(source):
    """The strings of a module, docstrings too, that name an option of our command line."""
    texts = [n.value for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Constant)]
    texts = [text for text in texts if isinstance(text, str) and FLAG.search(text)]
    return [text for text in texts if not OTHER_PROGRAMS.search(text)]


def test_no_string_below_the_command_line_names_an_option():
    own = [p for p in SOURCE.rglob("*.py") if "cli" not in p.parts and p.name != "errors.py"]
    assert len(own) > 100
    named = {path.name: flags_in(path.read_text(encoding="utf-8")) for path in own}
    assert {name: texts for name, texts in named.items() if texts} == {}


def test_a_string_that_names_an_option_is_seen():
    assert flags_in('raise InputError(f"{path}: name it with --label")') == [
        ": name it with --label"
    ]
    assert flags_in('raise InputError("ray start --head; a -- b; name it with `label`")') == []


def test_the_same_message_reads_as_python_and_as_a_command(dris, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n", encoding="utf-8")
    with pytest.raises(ValueError, match="with `label`"):
        read_data(tmp_path / "a.csv")
    code, _, error = dris("clean", tmp_path / "a.csv", "--out", tmp_path / "o")
    assert code == 1
    assert "with --label" in error
    assert "`" not in error


@pytest.mark.parametrize(
    ("name", "value", "option"),
    [
        ("no_label", ["?", "a b"], "--no-label '?,a b'"),
        ("id", "it`s", "--id 'it`s'"),
        ("label", "-1", "--label=-1"),
        ("workers", 1, "--workers 1"),
        ("force", True, "--force"),
        ("image_size", None, "--image-size"),
    ],
)
def test_a_proposed_value_survives_the_way_to_the_command_line(name, value, option):
    assert as_options(f"pass {parameter(name, value)}; `Cat` and `a b` stay") == (
        f"pass {option}; `Cat` and `a b` stay"
    )
