"""The bench is rooms that one can find: few files, in reading order, names that occur once."""

import re
from collections import Counter
from pathlib import Path

import pytest

import dris

PACKAGE = Path(dris.__file__).parent
BENCH = PACKAGE / "bench"
ROOMS = [BENCH, *(p for p in sorted(BENCH.iterdir()) if (p / "__init__.py").is_file())]


def modules(room):
    return sorted(p.stem for p in room.glob("*.py") if p.stem != "__init__")


def unlisted(names, told):
    return [name for name in names if not re.search(rf"\b{name}\b", told)]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_is_small_and_its_docstring_lists_every_module(room):
    assert len(modules(room)) <= 15
    assert unlisted(modules(room), (room / "__init__.py").read_text(encoding="utf-8")) == []


def test_a_module_that_is_not_listed_would_be_noticed():
    assert unlisted(["static", "groups"], "groups (what cells share), static_cell") == ["static"]


def twice(paths):
    count = Counter(Path(path).stem for path in paths if Path(path).stem != "__init__")
    return sorted(name for name, times in count.items() if times > 1)


def test_no_module_of_the_bench_shares_its_name_with_another():
    every = [str(path) for path in PACKAGE.rglob("*.py")]
    assert not set(twice(every)) & {path.stem for path in BENCH.rglob("*.py")}
    assert twice([*every, "report/runner.py"]) == sorted({*twice(every), "runner"})


def test_the_wheel_holds_no_tool_of_this_repository():
    tools = {path.stem for path in (PACKAGE.parents[1] / "tools").glob("*.py")}
    assert tools
    assert not tools & {path.stem for path in PACKAGE.rglob("*.py")}
