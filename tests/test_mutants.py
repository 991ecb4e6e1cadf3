"""The tool that changes operators: it finds them, and what it is told to overlook is there."""

import ast
import importlib.util
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
    found = {m.name: m for m in tool.mutants_of("core/judge/regimes")}
    heavy = "core/judge/regimes::Assessment.regime::self.doubted >= HEAVY -> self.doubted > HEAVY"
    assert heavy in found
    assert any(name.startswith("core/judge/regimes::::0.3 -> ") for name in found)
    assert "'natural' in fails -> 'natural' not in fails" in " ".join(found)
    assert not any("InputError" in name for name in found)
    changed = ast.unparse(found[heavy].tree)
    assert "self.doubted > HEAVY" in changed
    assert changed.replace("self.doubted > HEAVY", "self.doubted >= HEAVY") == ast.unparse(
        ast.parse((tool.PACKAGE / "core/judge/regimes.py").read_text())
    )


def test_every_module_of_the_rooms_has_tests_that_are_there(tool):
    modules = tool.modules([])
    assert {"decide/choice", "core/judge/regimes", "core/certify/protocol"} <= set(modules)
    lacking = [m for m in modules if not any(t.startswith("tests/") for t in tool.tests_of(m))]
    assert lacking == []


def test_what_is_called_equivalent_has_a_reason_and_is_still_there(tool):
    known = tool.equivalents()
    lines = [line for line in tool.EQUIVALENT.read_text().splitlines() if line[:1] not in ("", "#")]
    assert len(lines) == len(known)
    assert all(len(reason) > 10 for reason in known.values())
    names = {mutant.name for module in tool.modules([]) for mutant in tool.mutants_of(module)}
    assert sorted(set(known) - names) == []
