"""A rule with parameters, from Python and from the command line: the same rows."""

import csv

import numpy as np
import pytest

import dris
from dris import Rule
from dris.core.scores.formulas import hybrid

FAST = {"settings": dris.Settings(epochs=4, models=("sgd_log",), canaries=()), "workers": 1}


def table(n=400):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 3)) + 2 * y[:, None], y


def test_a_rule_with_parameters_is_used_measured_and_asked_for_another_share():
    decision = dris.prune(*table(), keep=0.25, rule=Rule(score="hybrid", beta=0.25), **FAST)
    score = hybrid(decision.ensemble.dynamics, beta=0.25)
    assert decision.kept.size == 100
    assert score[decision.kept].min() >= np.sort(score)[-100]
    assert (decision.rule, decision.at(0.5).rule) == ("hybrid(beta=0.25)", "hybrid(beta=0.25)")
    assert decision.harm is not None
    other = dris.prune(*table(), keep=0.25, rule="hybrid", check_harm=False, **FAST)
    # The counterexample: β = 0.5.
    assert other.kept.tolist() != decision.kept.tolist()


@pytest.mark.parametrize("rule", [Rule(score="aum"), Rule(method="clean_then_hard")])
def test_a_known_rule_is_the_same_by_name_and_as_a_rule(rule):
    one, two = (
        dris.prune(*table(), keep=0.25, rule=how, check_harm=False, **FAST)
        for how in (rule, rule.name)
    )
    assert (one.rule, one.kept.tolist()) == (two.rule, two.kept.tolist())


def test_the_command_takes_the_parameters_of_rules_as_options(tmp_path, dris):
    path, out = tmp_path / "t.csv", tmp_path / "out"
    x, y = table()
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["a", "b", "c", "label"], *np.column_stack((x, y)).tolist()])
    fast = ["--epochs", "4", "--model", "sgd_log", "--workers", "1", "--canaries", "none"]
    words = ["--keep", "0.25", "--rule", "hybrid", *fast, "--out", out]
    words += ["--no-report", "--skip-harm-check"]
    code, printed, _ = dris("prune", path, *words, "--beta", "0.25", "--scaled")
    assert code == 0
    assert "hybrid(beta=0.25, scaled)" in printed
    code, _, told = dris("prune", path, *words, "--beta", "2", "--fill")
    assert code == 1
    assert "--beta must be" in told
    assert "--fill is no parameter of hybrid" in told
