"""The tool that changes operators: it finds them, and what it is told to overlook is there."""

import ast
import subprocess
import sys
from pathlib import Path

import mutants as tool

AUDIT = "core/certify/random_audit"


def test_thresholds_levels_and_conditions_are_changed_and_words_are_not():
    mutants = {m.name: m for m in tool.mutants_of(AUDIT)}
    name = f"{AUDIT}::audit_size::wrong > wished -> wrong >= wished"
    assert name in mutants
    assert f"{AUDIT}::audit_limit::0.05 -> 0.085" in mutants
    assert not any("InputError" in name for name in mutants)
    changed = ast.unparse(mutants[name].tree)
    assert changed.replace("wrong >= wished", "wrong > wished") == ast.unparse(
        ast.parse((tool.PACKAGE / f"{AUDIT}.py").read_text(encoding="utf-8"))
    )


def test_every_room_has_modules_and_tests_that_are_there():
    assert {tool.room_of(name) for name in tool.modules([])} == set(tool.ROOMS)
    tests = [path for room in tool.ROOMS for path in tool.tests_of(room)]
    assert [path for path in tests if not (tool.ROOT / path).exists()] == []


def test_a_change_of_code_a_default_or_a_constant_is_put_in_place_and_no_other_is():
    """In a process of its own, for what is loaded here must stay as it is."""
    program = f"""
import sys
sys.path.insert(0, {str(Path(tool.__file__).parent)!r})
import mutants as tool
from dris.core.certify import limits, random_audit, separation

def put(name):
    mutant = next(m for m in tool.mutants_of(name.partition("::")[0]) if m.name.startswith(name))
    assert tool._patched(mutant), name

put("core/certify/limits::::60 -> 61")
assert limits._CUTS == 61
put("{AUDIT}::audit_limit::0.05 -> ")
assert random_audit.audit_limit.__kwdefaults__["delta"] == 0.085
rule = next(m for m in tool.mutants_of("core/certify/separation") if "x < 1 -> " in m.name)
assert not tool._patched(rule)  # in a table of functions: left to a fresh import
code = limits._cuts.__code__, limits._outside_limit.__code__
put("core/certify/limits::_outside_limit::rejected(most)")
assert limits._cuts.__code__ == code[0] and limits._outside_limit.__code__ != code[1]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_called_equivalent_has_a_reason_and_is_still_there():
    known = tool.equivalents()
    text = tool.EQUIVALENT.read_text(encoding="utf-8")
    assert len(known) == len([line for line in text.splitlines() if line[:1] not in ("", "#")])
    assert all(len(reason) > 10 for reason in known.values())
    names = {mutant.name for module in tool.modules([]) for mutant in tool.mutants_of(module)}
    assert sorted(set(known) - names) == []
