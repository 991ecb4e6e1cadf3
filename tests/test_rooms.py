"""Each room lists its files, and nothing generated is tracked."""

import ast
import subprocess
from pathlib import Path

import pytest

import dris

PACKAGE = Path(dris.__file__).parent
REPOSITORY = Path(__file__).parents[1]
GENERATED = {
    *("dris-out", "demo-out", "bench-out", "reproduced", "runs", "trial-out", "data", ".ci-data"),
    *(".venv", "build", "dist", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"),
    *(".hypothesis", ".ipynb_checkpoints", "node_modules"),
}
SOURCES = ("src/dris/data", "tests/data")  # rooms, not what a command wrote


def generated(paths):
    """Those of the tracked files that lie in a folder which a command or a tool fills."""

    def folders(path):
        for room in SOURCES:
            path = path.removeprefix(f"{room}/")
        return Path(path).parts[:-1]

    return [p for p in paths if any(n in GENERATED or n.endswith(".egg-info") for n in folders(p))]


def test_no_generated_folder_is_tracked():
    if not (REPOSITORY / ".git").exists():
        pytest.skip("not a git repository")
    command = ["git", "-C", str(REPOSITORY), "ls-files"]
    tracked = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    assert len(tracked.stdout.splitlines()) > 300
    assert generated(tracked.stdout.splitlines()) == []


def test_the_check_would_see_a_run_that_was_committed():
    wrong = ["reproduced/mid/records/a.json", "docs/bench-out/x.json", "src/dris.egg-info/PKG-INFO"]
    fine = [
        "src/dris/data/reader.py",
        "tests/data/test_reader.py",
        "src/dris/learn/engines/processes.py",
    ]
    assert generated([*wrong, *fine]) == wrong
    assert generated(["src/dris/data/runs/x.json"]) == ["src/dris/data/runs/x.json"]


def rooms():
    """Every package below `dris` by its path."""
    folders = [path.parent for path in sorted(PACKAGE.rglob("__init__.py"))]
    return {str(folder.relative_to(PACKAGE)): folder for folder in folders}


def names_in(folder):
    """The modules and rooms in a room."""
    files = [p.stem for p in folder.glob("*.py") if p.name != "__init__.py"]
    inside = [p.parent.name for p in folder.glob("*/__init__.py")]
    return sorted(files) + sorted(inside)


def not_listed(docstring, names):
    """Names that a room's list does not name."""
    text = docstring or ""
    return [name for name in names if f"`{name}`" not in text]


# The package itself is shown by CONTRIBUTING.md; every other room by its own list.
@pytest.mark.parametrize("room", [room for room in rooms() if room != "."])
def test_a_room_says_in_its_docstring_what_is_in_it(room):
    folder = rooms()[room]
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert not_listed(docstring, names_in(folder)) == []


def test_the_room_checks_would_see_what_they_are_for():
    assert not_listed("In reading order: `a`, `b`.", ["a", "b", "c"]) == ["c"]
    assert not_listed(None, ["a"]) == ["a"]
    assert {"core/checks", "learn/jobs", "pipeline"} <= set(rooms())
