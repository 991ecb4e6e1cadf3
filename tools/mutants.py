"""Which small changes to the rooms that decide, judge and certify does no test notice?

`make mutants` changes one operator or number at a time, runs the tests that are mapped to the
module and prints the share of changes that survive. `tools/mutants_equivalent.txt` lists those that
change nothing, with the reason; they are not counted. The tests of a module are collected once, and
every mutant runs them in a fork of its own, up to the first that fails.

    python tools/mutants.py                             # everything, about an hour on two cores
    python tools/mutants.py core/certify decide/choice  # rooms or modules
    python tools/mutants.py --sample 100                # that many, drawn at random
"""

import argparse
import ast
import copy
import importlib.util
import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dris"
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.txt")
ROOMS = ("decide", "core/judge", "core/certify")
_AUDIT = ("tests/cli/test_audit_command.py",)
# Where the tests of a module are not (only) in the file of its name.
TESTS: dict[str, tuple[str, ...]] = {
    "decide/audit": _AUDIT,
    "decide/ticks": _AUDIT,
    "decide/corrections": _AUDIT,
    "decide/settings": ("tests/decide/test_scored.py",),
    "decide/decision": ("tests/decide/test_decision.py", "tests/decide/test_choice.py"),
    "core/judge/judgement": (
        "tests/core/judge/test_judgement.py",
        "tests/core/judge/test_regimes.py",
    ),
    "core/judge/regimes": (
        "tests/core/judge/test_regimes.py",
        "tests/core/judge/test_judgement.py",
    ),
    "core/certify/separation": (
        "tests/core/certify/test_separation.py",
        "tests/core/certify/test_certificates_of_inexact_ranks.py",
    ),
    "core/certify/wording": ("tests/core/certify/test_separation.py",),
}
PATIENCE = 3  # times as long as without a change; a mutant that takes longer is noticed

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COUNTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, how the expression read, how it reads now, and the whole module."""

    module: str
    where: str
    line: int
    name: str
    tree: ast.Module


def mutants_of(module: str) -> list[Mutant]:
    """Every change to a module, named so that the name outlives edits elsewhere in it."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text())
    seen: Counter[str] = Counter()
    found = []
    for where, path in _places(tree):
        node = _at(tree, path)
        for new in _changed(node, asks=path[-1][0] == "test"):
            before, after = ast.unparse(node), ast.unparse(new)
            key = f"{module}::{where}::{before} -> {after}"
            seen[key] += 1
            name = key if seen[key] == 1 else f"{key} #{seen[key]}"
            changed = copy.deepcopy(tree)
            _put(changed, path, new)
            found.append(
                Mutant(module, where, node.lineno, name, ast.fix_missing_locations(changed))
            )
    return found


Path_ = tuple[tuple[str, int | None], ...]


def _places(tree: ast.Module) -> Iterator[tuple[str, Path_]]:
    """Every expression that may change, by the function it is in; not words, not types."""
    stack: list[tuple[ast.AST, str, Path_]] = [(tree, "", ())]
    while stack:
        node, where, path = stack.pop()
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "type_params"):
                continue
            for at, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(child, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
                    continue  # what an error says is not a decision
                if not isinstance(child, ast.AST):
                    continue
                inside = where
                if isinstance(child, ast.FunctionDef | ast.ClassDef):
                    inside = f"{where}.{child.name}".lstrip(".")
                here = (*path, (name, at))
                if isinstance(child, ast.expr):
                    yield inside, here
                stack.append((child, inside, here))


def _changed(node: ast.expr, *, asks: bool) -> Iterator[ast.expr]:
    """Other expressions in place of one; `asks` where an if decides by it."""
    if isinstance(node, ast.Compare):
        for k, operator in enumerate(node.ops):
            if type(operator) in _COMPARED:
                ops = [*node.ops[:k], _COMPARED[type(operator)](), *node.ops[k + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in _COUNTED:
        yield ast.BinOp(node.left, _COUNTED[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(other, node.values)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif asks and not isinstance(node, ast.Constant):
        yield ast.UnaryOp(ast.Not(), node)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield ast.Constant(node.value + 1)
        elif isinstance(node.value, float):
            yield ast.Constant(node.value * 1.5 + 0.01)


def _at(tree: ast.AST, path: Path_) -> ast.expr:
    node = tree
    for name, at in path:
        node = getattr(node, name) if at is None else getattr(node, name)[at]
    assert isinstance(node, ast.expr)
    return node


def _put(tree: ast.AST, path: Path_, new: ast.expr) -> None:
    *first, (name, at) = path
    node = tree
    for step, place in first:
        node = getattr(node, step) if place is None else getattr(node, step)[place]
    if at is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[at] = new


class Finder:
    """Imports the changed module in place of the file."""

    def __init__(self, mutant: Mutant) -> None:
        self.name = "dris." + mutant.module.replace("/", ".")
        self.path = str(PACKAGE / f"{mutant.module}.py")
        self.code = compile(mutant.tree, self.path, "exec")

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """The changed module, and nothing else."""
        if name != self.name:
            return None
        loader = SourceFileLoader(name, self.path)
        loader.get_code = lambda _: self.code  # type: ignore[method-assign]
        return importlib.util.spec_from_file_location(name, self.path, loader=loader)


def tests_of(module: str) -> list[str]:
    """The test files that are mapped to a module, and its own doctests."""
    room, _, name = module.rpartition("/")
    mapped = TESTS.get(module, (f"tests/{room}/test_{name}.py",))
    return [*(file for file in mapped if (ROOT / file).is_file()), f"src/dris/{module}.py"]


class Patient:
    """A pytest plugin: tests are collected once, then a fork of the session runs per mutant.

    A change inside a function is put into it in place; one of a default, a constant or a class is
    left to a fresh import (`run`), and so is whatever does not fit.
    """

    def __init__(self, mutants: list[Mutant], workers: int, limit: int) -> None:
        self.mutants, self.workers, self.limit = mutants, workers, limit
        self.found: list[tuple[Mutant, bool | None]] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        """Fork for every mutant in place of running the tests."""
        waiting, running = list(reversed(self.mutants)), dict[int, Mutant]()
        while waiting or running:
            while waiting and len(running) < self.workers:
                mutant = waiting.pop()
                child = os.fork()
                if not child:
                    self._child(session, mutant)
                running[child] = mutant
            child, status = os.wait()
            code = os.waitstatus_to_exitcode(status)
            self.found.append((running.pop(child), None if code == _UNFIT else code == 0))
        return True

    def _child(self, session: Any, mutant: Mutant) -> None:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (self.limit, self.limit))
            if not _patched(mutant):
                os._exit(_UNFIT)
            session.config.option.maxfail = 1
            for item, after in zip(session.items, [*session.items[1:], None], strict=True):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                if session.testsfailed:
                    os._exit(1)
            code = 0
        finally:
            os._exit(code)


_UNFIT = 99


def _functions(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    """Every function and method of a module by its qualified name, decorated or not."""
    for holder in [module, *(v for v in vars(module).values() if isinstance(v, type))]:
        for value in list(vars(holder).values()):
            inner = getattr(value, "fget", None) or getattr(value, "__func__", value)
            inner = getattr(inner, "__wrapped__", inner)
            if isinstance(inner, FunctionType) and inner.__module__ == module.__name__:
                yield inner.__qualname__, inner


def _patched(mutant: Mutant) -> bool:
    """Put the change into the function it is in; False where it is in none."""
    module = sys.modules["dris." + mutant.module.replace("/", ".")]
    held = dict(_functions(module))
    words = mutant.where.split(".")
    outer = [".".join(words[:k]) for k in range(1, len(words) + 1)]
    where = next((name for name in outer if name in held), "")  # a function in one is part of it
    codes = {c.co_qualname: c for c in _codes(compile(mutant.tree, str(module.__file__), "exec"))}
    if where not in codes:
        return False
    own, new = held[where], codes[where]
    if new.co_freevars != own.__code__.co_freevars or new == own.__code__:  # a default, say
        return False
    own.__code__ = new
    return True


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


def run(
    mutant: Mutant | None, tests: list[str], *, limit: int = 600, plugin: Patient | None = None
) -> int:
    """Fork, run the tests on the changed module, never return in the child; the child's id.

    With a plugin, the fork tries that plugin's mutants and prints what came of each.
    """
    child = os.fork()
    if child:
        return child
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    code = 1
    try:
        import pytest

        if plugin is None:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        if mutant is not None:
            sys.meta_path.insert(0, Finder(mutant))  # type: ignore[arg-type]
        # pytest would load files that it rewrites by itself, past the changed module.
        quick = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain"]
        code = int(pytest.main([*quick, *tests], plugins=[] if plugin is None else [plugin]))
        if plugin is not None:
            words = {True: "survived", False: "noticed", None: "unfit"}
            lines = [f"{words[survived]} {m.name}\n" for m, survived in plugin.found]
            _RESULT.write_text("".join(lines))
    finally:
        os._exit(code)


_RESULT = Path(tempfile.gettempdir()) / f"mutants-{os.getpid()}.txt"


def tried(
    module: str, mutants: list[Mutant], workers: int, limit: int
) -> Iterator[tuple[Mutant, bool]]:
    """Each mutant of a module, and whether it survived."""
    _RESULT.unlink(missing_ok=True)
    os.waitpid(run(None, tests_of(module), plugin=Patient(mutants, workers, limit)), 0)
    lines = _RESULT.read_text().splitlines() if _RESULT.is_file() else []
    said = {name: word for word, _, name in (line.partition(" ") for line in lines)}
    waiting = [m for m in mutants if said.get(m.name) not in ("survived", "noticed")]
    yield from ((m, said[m.name] == "survived") for m in mutants if m not in waiting)
    running = dict[int, Mutant]()
    while waiting or running:
        while waiting and len(running) < workers:
            mutant = waiting.pop()
            running[run(mutant, tests_of(module), limit=limit)] = mutant
        child, status = os.wait()
        if child in running:
            yield running.pop(child), status == 0


def equivalents() -> dict[str, str]:
    """The reason why each listed mutant changes nothing, by its name."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.is_file() else []
    pairs = [line.rpartition(" | ") for line in lines if " | " in line and line[0] != "#"]
    return {name.strip(): reason.strip() for name, _, reason in pairs}


def modules(asked: list[str]) -> list[str]:
    """The modules of the rooms, or those that are asked for."""
    files = [path for room in ROOMS for path in sorted((PACKAGE / room).glob("*.py"))]
    names = [str(path.relative_to(PACKAGE).with_suffix("")) for path in files]
    names = [name for name in names if not name.endswith("__init__")]
    return [name for name in names if not asked or any(name.startswith(a) for a in asked)]


def preload() -> None:
    """Load what every run needs and none of ours."""
    for name in (
        "numpy",
        "scipy.stats",
        "sklearn.neural_network",
        "sklearn.linear_model",
        "pyarrow",
    ):
        importlib.import_module(name)
    for name in ("pyarrow.parquet", "pyarrow.csv", "pytest", "hypothesis.strategies", "typer"):
        importlib.import_module(name)
    assert not any(name.split(".")[0] == "dris" for name in sys.modules)


def main() -> None:
    """Try them, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="rooms or modules, such as core/judge")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sample", type=int, help="so many of them, drawn at random")
    given = parser.parse_args()
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    preload()
    known, begun = equivalents(), time.monotonic()
    everything = [m for module in modules(given.names) for m in mutants_of(module)]
    names = {m.name for m in everything}
    stale = [] if given.names else [name for name in known if name not in names]
    todo = [m for m in everything if m.name not in known]
    if given.sample is not None:
        todo = random.Random(0).sample(todo, min(given.sample, len(todo)))
    of, left = Counter[str](), Counter[str]()
    for module in sorted({m.module for m in todo}):
        _, status, used = os.wait4(run(None, tests_of(module)), 0)
        limit = 5 + PATIENCE * int(used.ru_utime + used.ru_stime)
        if status:
            sys.exit(f"{module}: its tests fail without any change; {' '.join(tests_of(module))}")
        broken = Mutant(module, "", 0, "", ast.parse("raise RuntimeError"))
        if not os.waitpid(run(broken, tests_of(module)), 0)[1]:
            sys.exit(
                f"{module}: its tests do not load what is changed, so nothing would be noticed"
            )
        mine = [m for m in todo if m.module == module]
        for mutant, survived in tried(module, mine, given.workers, limit):
            of[module] += 1
            left[module] += survived
            if survived:
                print(f"survived  {mutant.name}  (line {mutant.line})", flush=True)
        print(f"{module}: {left[module]} of {of[module]} survive", flush=True)
    print(f"\n{'module':<32}{'mutants':>8}{'survive':>9}")
    for module in sorted(of):
        print(f"{module:<32}{of[module]:>8}{left[module]:>9}")
    share = sum(left.values()) / max(1, sum(of.values()))
    print(
        f"{sum(left.values())} of {sum(of.values())} survive ({share:.1%}), "
        f"{len(everything) - len([m for m in everything if m.name not in known])} more are "
        f"equivalent; {time.monotonic() - begun:.0f} s"
    )
    for name in stale:
        print(f"no longer there, remove from {EQUIVALENT.name}: {name}")


if __name__ == "__main__":
    main()
