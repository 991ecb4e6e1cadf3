"""Only two modules of the experiments import from inside dris, and each of their names is used."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GATHERED = ("dris_internals.py", "dris_torch.py")


def inside(source):
    """Modules inside dris that a source imports."""
    result = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            result.append(node.module)
        elif isinstance(node, ast.Import):
            result += [alias.name for alias in node.names]
    return [name for name in result if name.startswith("dris.")]


def test_what_is_needed_of_the_inside_of_dris_is_gathered():
    files = [p for p in ROOT.rglob("*.py") if p.name not in GATHERED]
    assert {str(p.relative_to(ROOT)): inside(p.read_text("utf-8")) for p in files} == {
        str(p.relative_to(ROOT)): [] for p in files
    }
    assert inside("from dris.core import streams\nimport dris") == ["dris.core"]


@pytest.mark.parametrize("name", GATHERED)
def test_nothing_is_gathered_that_nobody_uses(name):
    tree = ast.parse((ROOT / name).read_text("utf-8"))
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    used = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == f"experiments.{name[:-3]}":
                used |= {alias.name for alias in node.names}
    assert names - used == set()
