"""Claims of docs/decisions that no other test holds, and the arithmetic of page 13."""

import ast
import math
from pathlib import Path

import numpy as np

import dris
from dris.core.select.selection import remove_bottom

SOURCE = Path(dris.__file__).parent


def loads_pickles(source: str) -> bool:
    """Whether a file imports pickle or one of its relatives, or allows NumPy to load one."""
    for node in ast.walk(ast.parse(source)):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        if {n.split(".")[0] for n in names} & {"pickle", "cloudpickle", "dill", "shelve"}:
            return True
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            return True
    return False


def test_no_source_file_imports_pickle():
    assert [
        str(p) for p in sorted(SOURCE.rglob("*.py")) if loads_pickles(p.read_text(encoding="utf-8"))
    ] == []


def test_the_pickle_check_sees_one():
    assert loads_pickles("def f():\n    from pickle import load")
    assert loads_pickles("np.load(path, allow_pickle=True)")
    assert not loads_pickles("import json")


HEADLINE = {"n": 50_000, "keep": 0.25, "epsilon": 0.25, "alpha_trim": 0.1, "v_tail": 0.05}
BEST = {"tau": 0.0, "gamma": 0.0, "tau_bdry": 0.5}


def certificate(**numbers):
    return dris.certify(**{**HEADLINE, "k": 3, "boundary": 7_500, **BEST, **numbers})


def test_the_arithmetic_of_page_13():
    log = math.log(2 * 50_000 / 0.05)
    assert round(log, 4) == 14.5087
    rows = {k: ((1 - 1 / k) / 4, 2 * math.sqrt(log / (2 * k))) for k in (200, 466, 467)}
    assert [round(v, 5) for v in rows[200]] == [0.24875, 0.38090]
    assert [round(v, 6) for v in rows[466]] == [0.249464, 0.249537]
    assert [round(v, 6) for v in rows[467]] == [0.249465, 0.249270]
    assert {k: certificate(k=k).paper.separates for k in rows} == {
        200: False,
        466: False,
        467: True,
    }

    largest = certificate(tau_bdry=math.sqrt(0.0145)).paper
    assert largest.smallest_k == 138_016
    assert certificate(tau_bdry=math.sqrt(0.0145), gamma=0.145).paper.smallest_k is None
    assert round(2 * certificate().paper.radius, 2) == 3.11
    assert round(((1 - 0.1) * 0.25) ** 2 / 4, 4) == 0.0127
    assert [round(1.5 * printed, 4) for printed in (0.0085, 0.0145)] == [0.0128, 0.0218]
    assert certificate().vacuous

    assert certificate(k=467).paper.contamination is None
    assert "7,500 is smaller than the ⌊αN⌋ = 12,500" in certificate(k=467).paper.why_not
    assert certificate(k=467, boundary=12_500).paper.contamination is not None


def test_keeping_the_top_and_removing_the_bottom_agree_at_one_half_only():
    score = np.arange(1000.0)
    same = {
        alpha: dris.keep_top(score, fraction=alpha).indices.tolist()
        == remove_bottom(score, fraction=alpha, remove=alpha).indices.tolist()
        for alpha in (0.1, 0.25, 0.5)
    }
    assert same == {0.1: False, 0.25: False, 0.5: True}
