"""Nothing is computed twice: how often one decision calls what is expensive."""

import inspect
import sys
from collections import Counter
from functools import wraps
from pathlib import Path

import numpy as np
import pytest

import dris
from dris.core.checks import judgement
from dris.core.noise import assessment
from dris.core.select import rules
from dris.pipeline import choice, ensemble, route
from examples.quickstart_data import people

COUNTED = {
    "train": (route, "train_ensemble"),
    "assess": (ensemble, "assess"),
    "views": (assessment, "proxy_views"),
    "posterior": (assessment, "fit_posterior"),
    "posterior of the folds": (route, "fit_posterior"),
    "heads of the folds": (route, "nested_heads"),
    "trees of the folds": (route, "nested_trees"),
    "checks": (judgement, "run_checks"),
    "corruption": (ensemble, "data_limits"),
    "limits": (choice, "subset_limits"),
    "choose": (choice, "choose"),
    "suspects listed": (route, "list_suspects"),
}


@pytest.fixture
def calls(monkeypatch):
    counts = Counter()
    for name, (module, function) in COUNTED.items():
        real = getattr(module, function)

        def counted(*args, _name=name, _real=real, **kwargs):
            counts[_name] += 1
            return _real(*args, **kwargs)

        monkeypatch.setattr(module, function, wraps(real)(counted))
    return counts


def arrays(n=2000):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    x = (rng.normal(size=(n, 4)) + 3 * np.eye(3, 4)[y]).astype(np.float32)
    return x, np.where(rng.random(n) < 0.15, (y + 1) % 3, y)


def test_clean_computes_each_quantity_once(calls, tmp_path):
    decision = dris.clean(*arrays(), settings=dris.Settings(epochs=2), workers=1)
    assert decision.harm is not None
    dris.report(decision, tmp_path / "report.html")
    repr(decision), str(decision), decision.to_dict(), list(decision.suspects)
    assert calls.pop("heads of the folds") == 2  # a linear one, and one with a hidden layer
    for of_the_page in ("choose", "limits"):  # which shows other shares
        assert calls.pop(of_the_page) > 1
    others = set(COUNTED) - {"heads of the folds", "choose", "limits"}
    assert dict(calls) == dict.fromkeys(others, 1)


def test_prune_chooses_once_what_the_judgement_recommends(calls):
    how = {"settings": dris.Settings(epochs=2), "workers": 1, "check_harm": False}
    decision = dris.prune(*arrays(), keep=0.25, **how)
    assert decision.rule == "clean_then_hard"
    assert (calls["assess"], calls["choose"], calls["limits"]) == (1, 0, 1)  # the judgement chose
    assert dris.prune(*arrays(), keep=0.25, rule="aum", **how).rule == "aum"
    assert calls["choose"] == 1  # the twin: another rule has to choose


def test_the_count_would_see_a_second_assessment(calls):
    decision = dris.clean(*arrays(), settings=dris.Settings(epochs=2), workers=1, check_harm=False)
    assert calls["assess"] == 1
    rules.choose("clean", decision.ensemble.view, keep=1.0)  # without the assessment at hand
    assert calls["views"] == 2


def test_one_decision_about_the_quickstarts_table_enters_few_modules(tmp_path):
    people(tmp_path / "people.csv", np.random.default_rng(0), n=400)
    entered = set()

    def see(frame, event, _):
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            entered.add(Path(frame.f_code.co_filename))

    sys.setprofile(see)
    try:
        decision = dris.clean(tmp_path / "people.csv", label="income", id="person", workers=1)
    finally:
        sys.setprofile(None)
    assert decision.harm is not None
    home = Path(dris.__file__).parent
    own = {str(path.relative_to(home)) for path in entered if path.is_relative_to(home)}
    assert {"data/reader.py", "learn/proxies.py", "pipeline/route.py"} <= own
    assert len(own) <= 70, sorted(own)
