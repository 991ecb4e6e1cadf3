"""The tool that changes operators: it finds them, and what it is told to overlook is there."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "mutants.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("mutants_tool", TOOL)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants_tool"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mutants_tool"]


def test_thresholds_levels_and_conditions_are_changed_and_words_are_not(tool):
    found = {m.name: m for m in tool.mutants_of("core/checks/regimes")}
    heavy = "core/checks/regimes::Assessment.regime::self.doubted >= HEAVY -> self.doubted > HEAVY"
    assert heavy in found
    assert any(name.startswith("core/checks/regimes::::0.3 -> ") for name in found)
    assert "'natural' in fails -> 'natural' not in fails" in " ".join(found)
    assert not any("InputError" in name for name in found)
    changed = ast.unparse(found[heavy].tree)
    assert "self.doubted > HEAVY" in changed
    assert changed.replace("self.doubted > HEAVY", "self.doubted >= HEAVY") == ast.unparse(
        ast.parse((tool.PACKAGE / "core/checks/regimes.py").read_text(encoding="utf-8"))
    )


def test_every_room_has_modules_and_tests_that_are_there(tool):
    modules = tool.modules([])
    assert {"pipeline/choice", "core/checks/regimes", "core/certify/protocol"} <= set(modules)
    tests = [path for room in tool.ROOMS for path in tool.tests_of(room)]
    assert [path for path in tests if not (tool.ROOT / path).exists()] == []


def test_a_change_of_code_a_default_or_a_constant_is_put_in_place_and_no_other_is(tool):
    """In a process of its own, for what is loaded here must stay as it is."""
    program = f"""
import sys
sys.path.insert(0, {str(TOOL.parent)!r})
import mutants as tool
from dris.core.checks import judgement, regimes

def put(name):
    found = next(m for m in tool.mutants_of(name.partition("::")[0]) if m.name.startswith(name))
    assert tool._patched(found), name

assert regimes.TESTS == judgement.TESTS
before = regimes.TESTS
put(f"core/checks/regimes::::{{before}} -> ")
assert (regimes.TESTS, judgement.TESTS) == (before + 1, before + 1)
put("core/checks/judgement::judge::0.5 -> ")
assert judgement.judge.__kwdefaults__["at_most"] == 0.76
from dris.core.certify import separation
rule = next(m for m in tool.mutants_of("core/certify/separation") if "x < 1 -> " in m.name)
assert not tool._patched(rule)  # in a table of functions: left to a fresh import
code = judgement._without.__code__, judgement._plain.__code__
put("core/checks/judgement::_plain::")
assert judgement._without.__code__ == code[0] and judgement._plain.__code__ != code[1]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_called_equivalent_has_a_reason_and_is_still_there(tool):
    known = tool.equivalents()
    lines = [
        line
        for line in tool.EQUIVALENT.read_text(encoding="utf-8").splitlines()
        if line[:1] not in ("", "#")
    ]
    assert len(lines) == len(known)
    assert all(len(reason) > 10 for reason in known.values())
    names = {mutant.name for module in tool.modules([]) for mutant in tool.mutants_of(module)}
    assert sorted(set(known) - names) == []
