"""Claims of docs/decisions that no other test holds, and the arithmetic of page 13."""

import ast
import math
from pathlib import Path

import numpy as np
import pytest

import dris
from dris.core.select.importance import proportional
from dris.core.select.selection import remove_bottom
from dris.learn.targets import step_batches
from dris.learn.trainers import estimator as estimators
from dris.learn.trainers.estimator import penultimate_of
from dris.learn.trainers.stacked.stack import Stack

SOURCE = Path(dris.__file__).parent


def blobs(classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)).astype(np.float32), np.arange(30) % classes


# -- 7: the gradient norm ------------------------------------------------------------------------


def last_layer_gradient_norm(hidden, weight, bias, label, step=1e-5):
    """By finite differences of the softmax cross-entropy over every weight and bias."""

    def loss(w, b):
        z = hidden @ w + b
        return math.log(np.exp(z - z.max()).sum()) + z.max() - z[label]

    total = 0.0
    for place in np.ndindex(weight.shape):
        moved = np.zeros_like(weight)
        moved[place] = step
        total += ((loss(weight + moved, bias) - loss(weight - moved, bias)) / (2 * step)) ** 2
    for place in range(len(bias)):
        moved = np.zeros_like(bias)
        moved[place] = step
        total += ((loss(weight, bias + moved) - loss(weight, bias - moved)) / (2 * step)) ** 2
    return math.sqrt(total)


@pytest.mark.parametrize("model", ["mlp", "sklearn_mlp"])
def test_the_gradient_norm_is_that_of_the_last_layer(model, monkeypatch):
    seen = {}

    def spy(network, x):
        weight, bias = network.coefs_[-1], network.intercepts_[-1]
        seen.update(hidden=penultimate_of(network, x), weight=weight, bias=bias)
        return seen["hidden"]

    monkeypatch.setattr(estimators, "penultimate_of", spy)
    asked = Stack.answers

    def watched(stack, *given, **how):
        _, weight, bias = stack._layers(stack._weights.copy())
        hidden = stack.units(stack._table._x)[0]
        seen.update(hidden=hidden, weight=weight[0], bias=bias[0])
        return asked(stack, *given, **how)

    monkeypatch.setattr(Stack, "answers", watched)
    x, y = blobs(3)
    how = {"proxies": 1, "epochs": 2, "model": model, "workers": 1}
    recorded = dris.train_proxies(x, y, **how, gradient_norm=True).column("gradient_norm")[0, -1]
    weight, bias, hidden = (
        np.asarray(seen[name], dtype=np.float64) for name in ("weight", "bias", "hidden")
    )
    by_hand = [last_layer_gradient_norm(hidden[i], weight, bias, y[i]) for i in range(3)]
    assert recorded[:3] == pytest.approx(by_hand, rel=1e-5)
    without_bias = recorded[:3] * np.linalg.norm(hidden[:3], axis=1)
    without_bias /= np.sqrt(1 + np.linalg.norm(hidden[:3], axis=1) ** 2)
    assert without_bias != pytest.approx(by_hand, rel=1e-3)  # the check sees a missing bias


# -- 9: precision --------------------------------------------------------------------------------


def test_recorded_values_are_single_and_scores_double():
    x, y = blobs(3)
    dynamics = dris.train_proxies(x, y, proxies=2, epochs=2, gradient_norm=True, workers=1)
    floats = {n: c.dtype for n, c in dynamics.columns.items() if c.dtype != np.bool_}
    assert set(floats.values()) == {np.dtype(np.float32)}
    plain = ("rank_variance", "consensus", "loss", "el2n", "grand", "aum", "forgetting", "random")
    assert {dris.SCORES[name](dynamics).dtype for name in plain} == {np.dtype(np.float64)}
    assert dris.normalized_ranks(dynamics.snapshot("loss")).dtype == np.float64
    assert proportional(np.ones(3, dtype=np.float32)).weights.dtype == np.float64
    assert dris.Dynamics.from_losses(np.eye(2)).loss.dtype == np.float64


# -- 10: the visiting order ----------------------------------------------------------------------


def visits(indices, passes: int) -> list[int]:
    """One batch of one example is one step, so `passes` passes over the subset."""
    steps = step_batches(np.asarray(indices), total=12, epochs=passes, batch_size=1, seed=3)
    return [int(b[0]) for b in steps]


def is_subsequence(part, whole) -> bool:
    rest = iter(whole)
    return all(x in rest for x in part)


def test_a_subset_is_visited_in_the_order_of_the_full_data():
    full, kept = visits(np.arange(12), passes=4), visits([1, 4, 7, 10], passes=4)
    assert kept[:16] == [i for i in full if i in (1, 4, 7, 10)]
    assert is_subsequence(kept[:16], full)
    assert not is_subsequence(kept[15::-1], full)  # the check sees another order


# -- 11: artefacts -------------------------------------------------------------------------------


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


# -- 13: the paper against itself ----------------------------------------------------------------

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
