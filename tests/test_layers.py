"""Imports point down: cli, pages, integrations, pipeline, learn, data, core."""

import ast
import runpy
from collections.abc import Iterator
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import dris

LAYERS = (
    *("core", "data", "learn", "pipeline", "integrations", "report_page", "review_app", "cli"),
)
# Sub-rooms of a room, each importing only those before it.
ORDER = {
    "core": ("dynamics", "large", "scores", "noise", "select", "certify", "checks"),
    "data": ("text", "tables", "images"),
    "learn": ("record", "store", "engines", "ranking", "trainers", "jobs"),
    "learn/trainers": ("networks", "stacked"),
}
# (sub-room, a later one that it imports): a list that only shrinks.
KNOWN_UPWARD: set[tuple[str, str]] = set()
PACKAGE = Path(dris.__file__).parent
HEAVY = {
    *("starlette", "uvicorn", "torch", "ray", "lightning"),
    *("transformers", "datasets", "sklearn", "matplotlib", "scipy"),
}


def imports_of(source: str, *, at_import_time: bool = False) -> Iterator[str]:
    """Modules named by import statements; only those that run on import, if asked."""
    tree = ast.parse(source)
    nodes = _outside_functions(tree) if at_import_time else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _outside_functions(tree: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from _outside_functions(child)


def upward_imports(layer: str, source: str) -> list[str]:
    """What a file of `layer` imports from a layer above its own."""
    allowed = LAYERS[: LAYERS.index(layer) + 1]
    modules = list(imports_of(source))
    named = [m.split(".")[1] for m in modules if m.startswith("dris.")]
    named += ["experiments" for m in modules if m.split(".")[0] == "experiments"]
    return [name for name in named if name in (*LAYERS, "experiments") and name not in allowed]


def layer_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def files() -> list[Path]:
    return [p for p in sorted(PACKAGE.rglob("*.py")) if layer_of(p) in LAYERS]


def test_no_file_imports_from_a_layer_above_its_own():
    found = {
        str(p): bad
        for p in files()
        if (bad := upward_imports(layer_of(p), p.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_the_layer_check_catches_an_upward_import():
    assert upward_imports("core", "def f():\n    from dris.learn import proxies") == ["learn"] * 2
    assert upward_imports("learn", "import dris.pipeline.route") == ["pipeline"]
    assert upward_imports("learn", "import experiments.runner") == ["experiments"]
    assert upward_imports("pipeline", "from dris.learn import proxies") == []


def sub_rooms() -> dict[str, list[str]]:
    """The packages directly in each package but the root, where there are two or more."""
    rooms: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*/__init__.py")):
        room = path.parents[1].relative_to(PACKAGE).as_posix()
        if room != ".":
            rooms.setdefault(room, []).append(path.parent.name)
    return {room: inside for room, inside in rooms.items() if len(inside) > 1}


def upward_between(room: str, inside: str, source: str) -> set[tuple[str, str]]:
    """The sub-rooms after its own, in the same room, that a file of a sub-room imports."""
    order, prefix = ORDER[room], f"dris.{room.replace('/', '.')}."
    named = {m.removeprefix(prefix).split(".")[0] for m in imports_of(source) if prefix in m}
    later = order[order.index(inside) + 1 :]
    return {(f"{room}/{inside}", f"{room}/{name}") for name in named if name in later}


def test_sub_rooms_import_only_those_declared_before_them():
    assert {room: sorted(order) for room, order in ORDER.items()} == sub_rooms()
    upward = {
        pair
        for room, order in ORDER.items()
        for inside in order
        for path in (PACKAGE / room / inside).rglob("*.py")
        for pair in upward_between(room, inside, path.read_text(encoding="utf-8"))
    }
    assert upward == KNOWN_UPWARD


def test_the_sub_room_check_catches_an_upward_import_also_inside_a_function():
    wrong = "def f():\n    from dris.learn.jobs.proxy_job import train"
    assert upward_between("learn", "store", wrong) == {("learn/store", "learn/jobs")}
    assert upward_between("learn", "jobs", wrong) == set()


def circle_in(sources: dict[str, str]) -> list[str]:
    """Modules that import each other in a circle, also inside functions; empty without one."""
    graph = {name: set(imports_of(source)) & set(sources) for name, source in sources.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_of_learn_import_each_other_in_a_circle():
    learn = [path for path in files() if layer_of(path) == "learn" and path.stem != "__init__"]
    names = [f"dris.{'.'.join(p.relative_to(PACKAGE).with_suffix('').parts)}" for p in learn]
    texts = [path.read_text(encoding="utf-8") for path in learn]
    assert circle_in(dict(zip(names, texts, strict=True))) == []


def test_the_circle_check_catches_a_circle_through_a_function():
    assert circle_in({"a": "import b", "b": "def f():\n    import a"}) == ["a", "b", "a"]
    assert circle_in({"a": "import b", "b": ""}) == []


def heavy_at_import(source: str) -> set[str]:
    return {m.split(".")[0] for m in imports_of(source, at_import_time=True)} & HEAVY


def test_core_and_the_command_line_import_nothing_heavy():
    light = [p for p in files() if layer_of(p) in ("core", "cli")] + [PACKAGE / "__init__.py"]
    assert {
        str(p): bad for p in light if (bad := heavy_at_import(p.read_text(encoding="utf-8")))
    } == {}


def test_the_heavy_check_catches_a_heavy_import_and_forgives_one_inside_a_function():
    assert heavy_at_import("class A:\n    import scipy.stats") == {"scipy"}
    assert heavy_at_import("def f():\n    import torch") == set()


def needing_torch() -> set[str]:
    """The modules that cannot be imported without torch, by their paths in the repository."""
    at_import = {
        f"dris.{'.'.join(p.relative_to(PACKAGE).with_suffix('').parts)}": set(
            imports_of(p.read_text(encoding="utf-8"), at_import_time=True)
        )
        for p in files()
    }
    found = {m for m, named in at_import.items() if any(n.split(".")[0] == "torch" for n in named)}
    while more := {m for m, named in at_import.items() if named & found} - found:
        found |= more
    return {f"src/{m.replace('.', '/')}.py" for m in found}


def test_doctests_leave_out_every_module_that_needs_torch_where_there_is_none():
    ignored = runpy.run_path(str(PACKAGE.parents[1] / "conftest.py"))
    patterns = [*ignored["NEED_TORCH"], *ignored["collect_ignore_glob"]]
    missed = [p for p in needing_torch() if not any(fnmatch(p, pattern) for pattern in patterns)]
    assert missed == []
    assert "src/dris/learn/trainers/networks/loop.py" in needing_torch()
