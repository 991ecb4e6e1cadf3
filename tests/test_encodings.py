"""Text is UTF-8 wherever dris runs: no line, of tests neither, leaves that to the machine."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ["src/dris", "tests", "tools", "benchmarks", "examples"]


def left_to_the_machine(source: str) -> list[int]:
    """The lines that read or write text without saying how it is encoded."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and not any(named.arg in ("encoding", None) for named in node.keywords)
        and _is_text(node)
    ]


def _is_text(call: ast.Call) -> bool:
    named = {one.arg: ast.unparse(one.value) for one in call.keywords}
    if named.get("text") == "True" or named.get("universal_newlines") == "True":
        return True  # what a process says
    given = [ast.unparse(one) for one in call.args]
    match call.func:
        case ast.Name("open"):
            return "b" not in named.get("mode", [*given, "'r'", "'r'"][1])
        case ast.Attribute(attr="open"):  # of a path; tarfile.open and Image.open name no mode here
            mode = named.get("mode", given[0] if given else "'r'" if "newline" in named else "")
            return mode in ("'r'", "'w'", "'a'", "'x'", "'r+'", "'w+'", "'a+'")
        case ast.Attribute(attr="read_text"):
            return not given
        case ast.Attribute(attr="write_text"):
            return len(given) == 1
        case ast.Attribute(attr="TextIOWrapper"):
            return len(given) == 1
    return False


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_line_leaves_the_encoding_of_text_to_the_machine(folder):
    modules = sorted((ROOT / folder).rglob("*.py"))
    assert modules
    found = {
        str(path.relative_to(ROOT)): lines
        for path in modules
        if (lines := left_to_the_machine(path.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("open(p)", [1]),
        ("open(p, 'w')", [1]),
        ("open(p, mode='a')", [1]),
        ("open(p, 'rb')", []),
        ("open(p, encoding='utf-8')", []),
        ("p.open('w', newline='')", [1]),
        ("p.open(newline='')", [1]),
        ("p.open('xb')", []),
        ("tarfile.open(p, 'r|gz')", []),
        ("p.read_text()", [1]),
        ("p.read_text('utf-8')", []),
        ("p.write_text(words)", [1]),
        ("p.write_text(words, encoding='utf-8')", []),
        ("io.TextIOWrapper(raw)", [1]),
        ("subprocess.run(words, text=True)", [1]),
        ("subprocess.run(words, text=True, encoding='utf-8')", []),
    ],
)
def test_a_line_that_does_is_found(line, found):
    assert left_to_the_machine(line) == found


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_linter_refuses_such_a_line_in_every_folder(folder):
    pytest.importorskip("ruff")
    source = 'from pathlib import Path\n\nPath("a").read_text({})\n'
    for said, refused in (("", True), ('encoding="utf-8"', False)):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", "check", "--stdin-filename", f"{folder}/made.py", "-"],
            input=source.format(said),
            cwd=ROOT,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        assert ("`encoding`" in done.stdout) is refused, done.stdout + done.stderr
