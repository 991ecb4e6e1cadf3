"""Which small changes to the rooms that decide, judge and certify does no test notice?

`make mutants` changes one operator or number at a time and prints the share of changes that
survive, by module and by room. `tools/mutants_equivalent.txt` lists those that change nothing, with
the reason; they are not counted. The tests of the rooms are collected once and run once, to see how
long each takes and which functions it enters. Then every change runs, in a fork of that process,
the tests that enter what it changed, the quickest first, up to the first that fails. Tests that
would take a change past `--seconds` of processor time in all are not run for it, so the share is
at most what is printed. What came of a change is kept below the user's cache, and asked there as
long as the changed module and those tests are the same; `--fresh` asks nothing.

    python tools/mutants.py                             # everything
    python tools/mutants.py core/certify pipeline/choice  # rooms or modules
    python tools/mutants.py --sample 100                # that many, drawn at random
"""

import argparse
import ast
import functools
import gc
import hashlib
import importlib
import importlib.util
import json
import math
import os
import random
import resource
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dris"
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.txt")
ROOMS = ("pipeline", "core/checks", "core/certify")
# Tests of the rooms that are not in the folder of the same name.
FURTHER = {
    "pipeline": ("tests/cli/test_audit_command.py",),
    "core/certify": ("tests/core/test_chances.py", "src/dris/core/chances.py"),
}
BESIDE = {"core/chances": "core/certify"}  # modules that a room's tests cover
SECONDS = 6  # of tests for one change
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
    """One change: where it is, how the expression read, and how it reads now."""

    module: str
    where: str
    line: int
    name: str
    constant: str  # "module::NAME" where the change is in what a module calls NAME
    path: "Path_"
    new: ast.expr

    @property
    def tree(self) -> ast.Module:
        """The whole module with the change in it."""
        changed = ast.parse((PACKAGE / f"{self.module}.py").read_text(encoding="utf-8"))
        _put(changed, self.path, self.new)
        return ast.fix_missing_locations(changed)


def mutants_of(module: str) -> list[Mutant]:
    """Every change to a module, named so that the name outlives edits elsewhere in it."""
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    seen: Counter[str] = Counter()
    found = []
    for where, path in _places(tree):
        node = _at(tree, path)
        for new in _changed(node, asks=path[-1][0] == "test"):
            before, after = ast.unparse(node), ast.unparse(new)
            key = f"{module}::{where}::{before} -> {after}"
            seen[key] += 1
            name = key if seen[key] == 1 else f"{key} #{seen[key]}"
            constant = f"{module}::{_named(tree, path)}"
            found.append(Mutant(module, where, node.lineno, name, constant, path, new))
    return found


def _named(tree: ast.Module, path: "Path_") -> str:
    """The name that the module gives to what the change is in, if it does."""
    held = tree.body[path[0][1] or 0]
    targets = held.targets if isinstance(held, ast.Assign) else []
    named = [held.target] if isinstance(held, ast.AnnAssign) else targets
    return next((t.id for t in named if isinstance(t, ast.Name)), "")


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
        loader.get_code = lambda fullname: self.code  # type: ignore[method-assign]
        return importlib.util.spec_from_file_location(name, self.path, loader=loader)


@dataclass(frozen=True)
class Seen:
    """A test without any change: the processor time it takes, and what of the package it enters."""

    seconds: float
    enters: frozenset[str]  # "core/checks/regimes::CheckResults.regime"


@dataclass
class Session:
    """A pytest plugin that runs, in place of the tests, a fork of the session per change.

    A change inside a function, of a default, of a plain constant or of a field's default is put in
    place; any other is left to a fresh import (`imported`).
    """

    mutants: list[Mutant]
    workers: int
    seconds: float
    kept: "Kept"
    noticed: dict[str, bool] = field(default_factory=dict)
    unfit: list[tuple[Mutant, list[str], int]] = field(default_factory=list)

    def pytest_runtestloop(self, session: Any) -> bool:
        """Fork for every mutant in place of running the tests."""
        seen = self.kept.seen(session)
        readers = _readers()
        items = {item.nodeid: item for item in session.items}
        gc.freeze()
        waiting, running = list(reversed(self.mutants)), dict[int, tuple[Mutant, str]]()
        chosen = dict[str, list[str]]()
        while waiting or running:
            while waiting and len(running) < self.workers:
                mutant = waiting.pop()
                tests = chosen[mutant.name] = _covering(mutant, seen, readers, self.seconds)
                mark = self.kept.mark(mutant, tests)
                known = self.kept.get(mark, tests)
                if known is not None or not tests:  # what no test enters survives
                    self._heard(mutant, known is not None and known)
                    continue
                child = os.fork()
                if not child:
                    _child(session, mutant, [(items[t], seen[t].seconds) for t in tests])
                running[child] = mutant, mark
            if not running:
                continue
            child, status = os.wait()
            mutant, mark = running.pop(child)
            code = os.waitstatus_to_exitcode(status)
            if code == _UNFIT:
                tests = chosen[mutant.name]
                limit = 20 + math.ceil(PATIENCE * sum(seen[t].seconds for t in tests))
                self.unfit.append((mutant, tests, limit))
                continue
            self.kept.put(mark, code != 0, chosen[mutant.name])
            self._heard(mutant, code != 0)
        return True

    def _heard(self, mutant: Mutant, noticed: bool) -> None:
        self.noticed[mutant.name] = noticed
        if not noticed:
            say(f"survived  {mutant.name}  (line {mutant.line})")


_UNFIT = 99


def _child(session: Any, mutant: Mutant, timed: list[tuple[Any, float]]) -> None:
    code, items = 1, [item for item, _ in timed]
    try:
        signal.alarm(600)
        if not _patched(mutant):
            os._exit(_UNFIT)
        session.config.option.maxfail = 1
        for (item, seconds), after in zip(timed, [*items[1:], None], strict=True):
            signal.setitimer(signal.ITIMER_PROF, 1 + PATIENCE * seconds)  # ends the process
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if session.testsfailed:
                os._exit(1)
        code = 0
    finally:
        os._exit(code)


def _measured(session: Any, items: list[Any]) -> dict[str, Seen]:
    """Run tests once, in a fork, and see how long it takes and what it enters."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        found: dict[str, tuple[float, list[str]]] = {}
        try:
            for item, after in zip(items, [*items[1:], None], strict=True):
                entered: set[CodeType] = set()
                sys.settrace(lambda frame, *_, note=entered.add: note(frame.f_code))
                begun = time.process_time()
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
                took = time.process_time() - begun
                sys.settrace(None)
                if session.testsfailed:
                    found = {item.nodeid: (-1.0, [])}
                    break
                found[item.nodeid] = took, sorted(filter(None, map(_place, entered)))
            with os.fdopen(writer, "w") as stream:
                json.dump(found, stream)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        found = json.load(stream)
    os.waitpid(child, 0)
    failed = [name for name, (took, _) in found.items() if took < 0]
    if failed:
        say(f"without any change this test fails: {failed[0]}")
        os._exit(1)
    return {name: Seen(took, frozenset(enters)) for name, (took, enters) in found.items()}


def _place(code: CodeType) -> str | None:
    """The module and the outermost function of a piece of code of the package."""
    if not code.co_filename.startswith(str(PACKAGE)):
        return None
    module = code.co_filename.removeprefix(f"{PACKAGE}/").removesuffix(".py")
    return f"{module}::{code.co_qualname.partition('.<locals>')[0]}"


def _covering(
    mutant: Mutant, seen: dict[str, Seen], readers: dict[str, set[str]], seconds: float
) -> list[str]:
    """The tests that enter what is changed, the quickest first."""
    outer = _held(mutant)
    # A constant is read by others; whatever enters the module may depend on the rest.
    places = {f"{mutant.module}::{outer}"} if outer else readers.get(mutant.constant, set())
    tests = [t for t, s in seen.items() if s.enters & places] if places else []
    if not tests:
        tests = [
            t for t, s in seen.items() if any(e.startswith(f"{mutant.module}::") for e in s.enters)
        ]
    tests.sort(key=lambda t: seen[t].seconds)
    total, chosen = 0.0, list[str]()
    for test in tests:
        total += seen[test].seconds
        if total > seconds and chosen:
            break
        chosen.append(test)
    return chosen


def _readers() -> dict[str, set[str]]:
    """The functions of the package that read a global, by "module::name" of where it is made."""
    found: dict[str, set[str]] = defaultdict(set)
    for module in _loaded():
        origin = _origins(str(module.__file__))
        here = str(Path(str(module.__file__)).relative_to(PACKAGE).with_suffix(""))
        for name, function in _functions(module):
            for code in (function.__code__, *_codes(function.__code__)):
                for word in code.co_names:
                    found[f"{origin.get(word, here)}::{word}"].add(f"{here}::{name}")
    return found


def _loaded() -> list[ModuleType]:
    """The modules of the package that are loaded."""
    held = [m for name, m in list(sys.modules.items()) if name.split(".")[0] == "dris"]
    return [m for m in held if str(getattr(m, "__file__", "")).startswith(str(PACKAGE))]


@functools.cache
def _origins(file: str) -> dict[str, str]:
    """Where each name comes from that a file imports from the package."""
    found = {}
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dris"):
            module = str(node.module).removeprefix("dris").lstrip(".").replace(".", "/")
            found.update({alias.name: module for alias in node.names if alias.asname is None})
    return found


def _functions(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    """Every function and method of a module by its qualified name, decorated or not."""
    for holder in [module, *(v for v in vars(module).values() if isinstance(v, type))]:
        for value in list(vars(holder).values()):
            inner = getattr(value, "fget", None) or getattr(value, "func", value)
            inner = getattr(inner, "__func__", inner)
            inner = getattr(inner, "__wrapped__", inner)
            # What a dataclass was given is not in the file, and differs from time to time.
            if isinstance(inner, FunctionType) and inner.__code__.co_filename == module.__file__:
                yield inner.__qualname__, inner


def _module(mutant: Mutant) -> ModuleType:
    return sys.modules["dris." + mutant.module.replace("/", ".")]


def _held(mutant: Mutant) -> str:
    """The outermost function that a change is in; empty where it is in none."""
    if "dris." + mutant.module.replace("/", ".") not in sys.modules:
        return ""
    held = dict(_functions(_module(mutant)))
    words = mutant.where.split(".")
    return next((n for k in range(1, len(words) + 1) if (n := ".".join(words[:k])) in held), "")


_PLAIN = (bool, int, float, str, type(None))


def _patched(mutant: Mutant) -> bool:
    """Put the change where it belongs in what is loaded; False where that is not enough."""
    old = _module(mutant)
    new = ModuleType(old.__name__)
    new.__dict__.update({"__file__": old.__file__, "__package__": old.__package__})
    exec(compile(mutant.tree, str(old.__file__), "exec"), new.__dict__)
    held, changed = dict(_functions(new)), 0
    for name, function in _functions(old):
        other = held.get(name)
        if other is None or other.__code__.co_freevars != function.__code__.co_freevars:
            return False
        if other.__code__ != function.__code__:
            function.__code__ = other.__code__
            changed += 1
        changed += _defaults(function, other)
    if not _held(mutant):
        changed += _classes(old, new) + _constants(mutant, old, new)
    return changed > 0


def _plain(value: object) -> bool:
    """Whether a value is the same wherever its code runs, as no function is."""
    return all(map(_plain, value)) if isinstance(value, tuple) else isinstance(value, _PLAIN)


def _differ(one: object, other: object) -> bool:
    return _plain(one) and _plain(other) and one != other


def _defaults(function: FunctionType, other: FunctionType) -> int:
    pairs = list(zip(function.__defaults__ or (), other.__defaults__ or (), strict=True))
    named = [
        (name, value)
        for name, value in (other.__kwdefaults__ or {}).items()
        if _differ((function.__kwdefaults__ or {})[name], value)
    ]
    if any(_differ(a, b) for a, b in pairs):
        function.__defaults__ = tuple(b if _differ(a, b) else a for a, b in pairs)
    if named:
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), **dict(named)}
    return len(named) + sum(_differ(a, b) for a, b in pairs)


def _classes(old: ModuleType, new: ModuleType) -> int:
    """A field's default stands in the class and in the `__init__` that was made for it."""
    changed = 0
    for name, kind in vars(old).items():
        other = vars(new).get(name)
        if not isinstance(kind, type) or kind.__module__ != old.__name__:
            continue
        fields = getattr(kind, "__dataclass_fields__", {})
        theirs = getattr(other, "__dataclass_fields__", {})
        if any(_differ(fields[f].default, theirs[f].default) for f in fields):
            kind.__init__ = other.__init__  # type: ignore[misc]
            changed += 1
    return changed


def _constants(mutant: Mutant, old: ModuleType, new: ModuleType) -> int:
    """A plain constant, here and wherever it was imported by its name."""
    changed = 0
    for name, value in list(vars(new).items()):
        before = vars(old).get(name)
        if name.startswith("__") or not _differ(before, value):
            continue
        for module in list(sys.modules.values()):
            file = str(getattr(module, "__file__", None) or "")
            ours = file.startswith((str(PACKAGE), str(ROOT / "tests"))) and file.endswith(".py")
            if module is old or (
                ours and name in vars(module) and _origins(file).get(name) == mutant.module
            ):
                setattr(module, name, value)
        setattr(old, name, value)
        changed += 1
    return changed


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


def imported(mutant: Mutant, tests: list[str], limit: int) -> int:
    """Fork, run the tests on a fresh import of the changed module; the child's id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        signal.alarm(600)
        sys.meta_path.insert(0, Finder(mutant))
        code = _pytest(tests)
    finally:
        os._exit(code)


def _pytest(tests: list[str], plugin: Session | None = None) -> int:
    import pytest

    # pytest would load files that it rewrites by itself, past the changed module.
    quick = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain"]
    return int(pytest.main([*quick, *tests], plugins=[] if plugin is None else [plugin]))


class Kept:
    """What came of earlier changes: a line each, below the user's cache."""

    def __init__(self, *, fresh: bool) -> None:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.file = cache / "dris-mutants" / "kept.jsonl"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.held: dict[str, tuple[bool, int]] = {}
        if self.file.is_file() and not fresh:
            for line in self.file.read_text(encoding="utf-8").splitlines():
                mark, noticed, tests = json.loads(line)
                self.held[mark] = noticed, tests
        self.texts: dict[str, bytes] = {}

    def mark(self, mutant: Mutant, tests: list[str]) -> str:
        """The changed module and the tests it was held to."""
        digest = hashlib.sha256(ast.dump(mutant.tree).encode())
        for file in sorted({test.partition("::")[0] for test in tests}):
            digest.update(self.texts.setdefault(file, (ROOT / file).read_bytes()))
        return digest.hexdigest()

    def seen(self, session: Any) -> dict[str, Seen]:
        """What each test enters, run again only where its file is another one."""
        path = self.file.with_name("seen.json")
        held = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        files = {item.nodeid.partition("::")[0] for item in session.items}
        marks = {f: hashlib.sha256((ROOT / f).read_bytes()).hexdigest() for f in files}
        new = [
            item
            for item in session.items
            if marks[f := item.nodeid.partition("::")[0]] != held.get(f, [None])[0]
        ]
        for name, one in _measured(session, new).items():
            file = name.partition("::")[0]
            if held.get(file, [None])[0] != marks[file]:
                held[file] = marks[file], {}
            held[file][1][name] = one.seconds, sorted(one.enters)
        path.write_text(json.dumps(held), encoding="utf-8")
        return {
            name: Seen(seconds, frozenset(enters))
            for file in files
            for name, (seconds, enters) in held[file][1].items()
        }

    def get(self, mark: str, tests: list[str]) -> bool | None:
        """Whether it was noticed, if that is known; what survived fewer tests is tried again."""
        noticed, held_to = self.held.get(mark, (False, 0))
        return noticed if noticed or held_to >= len(tests) else None

    def put(self, mark: str, noticed: bool, tests: list[str]) -> None:
        """Write it down."""
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([mark, noticed, len(tests)]) + "\n")


def equivalents() -> dict[str, str]:
    """The reason why each listed mutant changes nothing, by its name."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.is_file() else []
    pairs = [line.rpartition(" | ") for line in lines if " | " in line and line[0] != "#"]
    return {name.strip(): reason.strip() for name, _, reason in pairs}


def modules(asked: list[str]) -> list[str]:
    """The modules of the rooms, or those that are asked for."""
    files = [path for room in ROOMS for path in sorted((PACKAGE / room).glob("*.py"))]
    names = [str(path.relative_to(PACKAGE).with_suffix("")) for path in files]
    names = [*(name for name in names if not name.endswith("__init__")), *BESIDE]
    return [name for name in names if not asked or any(name.startswith(a) for a in asked)]


def preload() -> None:
    """Load what every run needs and none of ours."""
    for name in ("numpy", "scipy.stats", "sklearn.neural_network", "sklearn.linear_model"):
        importlib.import_module(name)
    for name in ("pyarrow.parquet", "pyarrow.csv", "pytest", "hypothesis.strategies", "typer"):
        importlib.import_module(name)
    assert not any(name.split(".")[0] == "dris" for name in sys.modules)


_OUT = os.dup(1)


def say(text: str) -> None:
    """A line for the person, while the tests are silent."""
    os.write(_OUT, f"{text}\n".encode())


def room_of(module: str) -> str:
    """The room whose tests cover a module."""
    return BESIDE.get(module, module.rpartition("/")[0])


def tests_of(room: str) -> list[str]:
    """Every test file of a room, and its doctests."""
    return [f"tests/{room}", f"src/dris/{room}", *FURTHER.get(room, ())]


def noticed_of(
    room: str, mutants: list[Mutant], workers: int, seconds: float, kept: Kept
) -> dict[str, bool]:
    """Whether a test of the room notices each change, by its name."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        session = Session(mutants, workers, seconds, kept)
        try:
            code = _pytest(tests_of(room), session)
            unfit = [(m.name, tests, limit) for m, tests, limit in session.unfit]
            with os.fdopen(writer, "w") as stream:
                json.dump([code, session.noticed, unfit], stream)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    if not text:
        sys.exit("the tests could not be run")
    code, noticed, unfit = json.loads(text)
    if code:
        sys.exit(
            f"the tests cannot be collected: pytest {' '.join(tests_of(room))} ends with {code}"
        )
    by_name = {m.name: m for m in mutants}
    waiting, running = [(by_name[n], t, limit) for n, t, limit in unfit], dict[int, Any]()
    null = os.open(os.devnull, os.O_WRONLY)
    held = os.dup(1), os.dup(2)
    os.dup2(null, 1)
    os.dup2(null, 2)
    while waiting or running:
        while waiting and len(running) < workers:
            mutant, tests, limit = waiting.pop()
            running[imported(mutant, tests, limit)] = mutant, tests
        child, status = os.wait()
        if child in running:
            mutant, tests = running.pop(child)
            noticed[mutant.name] = status != 0
            kept.put(kept.mark(mutant, tests), status != 0, tests)
            if status == 0:
                say(f"survived  {mutant.name}  (line {mutant.line})")
    os.dup2(held[0], 1)
    os.dup2(held[1], 2)
    return dict(noticed)


def interval(left: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share that was counted in a sample."""
    z, share = 1.96, left / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    return middle - half, middle + half


def main() -> None:
    """Try them, and print what survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="rooms or modules, such as core/checks")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sample", type=int, help="so many of them, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of tests for one change")
    parser.add_argument("--fresh", action="store_true", help="ask nothing that is kept")
    given = parser.parse_args()
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    preload()
    known, begun = equivalents(), time.monotonic()
    everything = [m for module in modules(given.names) for m in mutants_of(module)]
    names = {m.name for m in everything}
    stale = [] if given.names else [name for name in known if name not in names]
    todo = [m for m in everything if m.name not in known]
    equal = len(everything) - len(todo)
    if given.sample is not None:
        todo = random.Random(given.seed).sample(todo, min(given.sample, len(todo)))
    noticed: dict[str, bool] = {}
    for room in ROOMS:
        mine = [m for m in todo if room_of(m.module) == room]
        if mine:
            kept = Kept(fresh=given.fresh)
            noticed |= noticed_of(room, mine, given.workers, given.seconds, kept)
    of, left = Counter[str](), Counter[str]()
    for mutant in todo:
        for name in (mutant.module, room_of(mutant.module) + "/"):
            of[name] += 1
            left[name] += not noticed.get(mutant.name, False)
    print(f"\n{'module or room':<32}{'changes':>8}{'survive':>9}{'share':>8}")
    for name in sorted(of):
        print(f"{name:<32}{of[name]:>8}{left[name]:>9}{left[name] / of[name]:>8.1%}")
    lost, total = sum(not noticed.get(m.name, False) for m in todo), max(1, len(todo))
    print(
        f"{lost} of {total} survive ({lost / total:.1%}), {equal} more are equivalent; "
        f"{time.monotonic() - begun:.0f} s"
    )
    if given.sample is not None:
        low, high = interval(lost, total)
        print(f"a sample: the share of all is between {low:.1%} and {high:.1%} (95 %)")
    for name in stale:
        print(f"no longer there, remove from {EQUIVALENT.name}: {name}")


if __name__ == "__main__":
    main()
