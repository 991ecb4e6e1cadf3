"""The study of gated rules: its network, its rules, its records, its page."""

import itertools
from dataclasses import asdict, replace

import numpy as np
import pytest

from dris.bench.beyond import page, run
from dris.bench.beyond.mlp import SmallMLP
from dris.bench.beyond.records import Column, Results, read_results, write_results
from dris.bench.beyond.setting import STUDIES, TABLE, cells_of, noise_of, noises, study_of
from dris.bench.rules import (
    BASELINES,
    DEFAULT,
    GATED,
    NAMES,
    RULES,
    VARIANTS,
    Judged,
    checked_rules,
)
from dris.bench.spec import Noise
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError

TINY = replace(study_of("digits", 700), proxy_epochs=3, target_epochs=2, canaries=0.2)


def judged(n=400, seed=0):
    """Proxies that see a tenth of wrong labels and a fifth of canaries for what they are."""
    rng = np.random.default_rng(seed)
    true, ids = np.arange(n) % 3, np.arange(n) + 5000
    bad, canaries = rng.permutation(n) < n // 10, rng.permutation(n) < n // 5

    def dynamics(wrong, k=3):
        z = rng.normal(size=(k, 4, n, 3)) + 8 * np.eye(3)[true]
        return Dynamics.from_logits(z, np.where(wrong, (true + 1) % 3, true), ids=ids)

    parts = dynamics(bad), dynamics(bad | canaries), dynamics(bad, 1)
    return Judged(*(lambda part=part: part for part in parts), canaries=canaries), bad


# -- the network ---------------------------------------------------------------------------------


def both(ours, theirs):
    weights = (model.coefs_ + model.intercepts_ for model in (ours, theirs))
    return zip(*weights, strict=True)


def test_the_small_network_takes_the_steps_of_scikit_learns():
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 5)).astype(np.float32), rng.integers(0, 3, 60)
    ours = SmallMLP(hidden=7, learning_rate=0.05, random_state=0)
    theirs = MLPClassifier((7,), solver="sgd", learning_rate_init=0.05, momentum=0.9)
    ours.partial_fit(x[:10], y[:10], classes=range(3))
    theirs.partial_fit(x[:10], y[:10], classes=range(3))
    for mine, other in both(ours, theirs):
        other[...] = mine
    for speed, other in zip(ours._speed, theirs._optimizer.velocities, strict=True):
        other[...] = speed
    for at in np.split(np.arange(60), 6) * 3:
        ours.partial_fit(x[at], y[at])
        theirs.partial_fit(x[at], y[at])
    for mine, other in both(ours, theirs):
        assert mine == pytest.approx(other, abs=2e-5)
    plain = SmallMLP(hidden=7, learning_rate=0.05, momentum=0.0, random_state=0)
    plain.partial_fit(x, y, classes=range(3)).partial_fit(x, y)
    assert plain.coefs_[0] != pytest.approx(theirs.coefs_[0], abs=1e-3)  # the check can fail


def test_the_same_seed_starts_from_the_same_weights():
    one, two = (
        SmallMLP(random_state=3).partial_fit(np.ones((2, 4), np.float32), [0, 1], range(2))
        for _ in range(2)
    )
    assert (one.coefs_[0] == two.coefs_[0]).all()


# -- rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_every_rule_keeps_its_share_and_gated_ones_no_canary(name):
    told, bad = judged()
    subset = RULES[name](told, 0.25, 0)
    assert subset == RULES[name](told, 0.25, 0)
    if name not in {**GATED, **VARIANTS}:
        assert len(subset) == 100
        return
    assert not told.canaries[subset.indices].any()
    assert subset.parameters["chosen"] == 100
    assert bad[subset.indices].mean() < 0.1  # the share in all the data


def test_rules_that_prefer_the_hard_keep_the_corrupted():
    told, bad = judged()
    assert bad[RULES["el2n"](told, 0.1, 0).indices].mean() > 0.8
    assert bad[RULES["gate+el2n"](told, 0.1, 0).indices].mean() < 0.1


def test_confident_learning_removes_what_looks_mislabelled():
    told, bad = judged()
    assert bad[RULES["confident_learning"](told, 0.75, 0).indices].mean() < 0.02
    assert bad[RULES["random"](told, 0.75, 0).indices].mean() > 0.05


def test_every_rule_has_a_name_of_its_own():
    assert set(NAMES) == set(RULES)
    assert len(set(NAMES.values())) == len(NAMES)
    assert DEFAULT in GATED


# -- running -------------------------------------------------------------------------------------


FEW = {"only_rules": ["random", "default"], "only_noises": [TABLE[0], Noise("targeted", 0.5)]}


def test_a_study_goes_on_from_its_records(tmp_path, monkeypatch):
    records = run.run(TINY, seeds=[0], store=tmp_path, workers=1, **FEW)
    assert [r["cell"]["rule"] for r in records] == ["random", DEFAULT] * 4  # 3 keeps, then 1
    assert all(0 < r["accuracy"] < 1 for r in records)
    assert [r["contamination"] for r in records[:6]] == [0.0] * 6
    assert records[6]["contamination"] > 0.4
    trained = []
    reached = run.reached
    monkeypatch.setattr(run, "reached", lambda *a: trained.append(a) or reached(*a))
    next((tmp_path / "cells").iterdir()).unlink()
    assert run.run(TINY, seeds=[0], store=tmp_path, workers=1, **FEW) == records
    assert len(trained) == 1


def test_progress_ends_at_the_number_of_cells(tmp_path):
    seen = []
    for _ in range(2):
        asked = {"seeds": [0], "store": tmp_path, "workers": 1, **FEW}
        run.run(TINY, progress=lambda *p: seen.append(p), **asked)
    assert seen[-1] == (8, 8)


def test_a_network_is_a_target_too():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 255, (60, 1, 12, 12)).astype(np.uint8), np.arange(60) % 3
    x[y == 1, :, :6] = 0
    x[y == 2, :, 6:] = 0
    data = run.Loaded(x, y, x, y, 3)
    study = replace(TINY, model="small_cnn", target_epochs=8, target_batch=20)
    every = RULES["random"](judged(60)[0], 1.0, 0)
    assert run.reached(study, data, y, every, 0) > 0.6


def test_food_without_a_backbone_says_what_to_pass(monkeypatch):
    paths = np.array(["a.jpg", "b.jpg"])
    found = replace(run.load("digits"), train_x=paths, train_y=np.array([0, 1]))
    monkeypatch.setattr(run, "load", lambda name: found)
    with pytest.raises(InputError, match="--backbone"):
        run.loaded(STUDIES["food101-mini"], None)


# -- settings, records, page ---------------------------------------------------------------------


def test_no_two_cells_share_a_record():
    cells = [c for n in noises() for s in (0, 1) for c in cells_of(TINY, n, s, list(RULES))]
    assert len({c.key for c in cells}) == len(cells)
    other = cells_of(replace(TINY, canaries=0.3), TABLE[0], 0, ["random"])[0]
    assert other.key not in {c.key for c in cells}


def test_an_unknown_study_is_refused_by_name():
    with pytest.raises(InputError, match="data must be one of digits"):
        study_of("imagenet")


def test_unknown_rules_and_noises_are_refused_by_name():
    with pytest.raises(InputError, match="rule must be default or one of random"):
        checked_rules(["random", "best"])
    with pytest.raises(InputError, match=r"noise must be one of clean, uniform:0\.1"):
        noise_of("uniform:0.3")


def test_a_page_of_few_rules_and_columns_can_be_written(tmp_path):
    whole = made_up(default_wins=True)
    few = [r for r in whole.records if r["rule"] in ("aum", "rank_variance", DEFAULT)]
    part = replace(whole, records=tuple(r for r in few if r["kind"] != "uniform"))
    assert "| Random |" not in page.page([part])
    assert page.keep_figure({"Digits": part}, tmp_path / "f.png").exists()
    assert page.rate_figure({"Digits": part}, tmp_path / "f.png").exists()


def made_up(default_wins):
    """Three seeds of every rule in every column; the default is best, or third in one column."""
    rules = [*BASELINES, *GATED]
    records = []
    for noise, seed, keep in itertools.product(noises(), range(3), (0.25, 0.5, 0.75)):
        for i, rule in enumerate(rules):
            accuracy = 0.5 + 0.01 * i + 0.001 * seed * (i + 1)
            if rule == DEFAULT:
                lost = not default_wins and (noise, keep) == (TABLE[3], 0.5)
                accuracy = 0.505 if lost else 0.9 + 0.002 * seed
            records.append(
                {
                    "kind": noise.kind,
                    "rate": noise.rate,
                    "keep": keep,
                    "rule": rule,
                    "seed": seed,
                    "accuracy": accuracy,
                    "contamination": 0.1,
                }
            )
    return Results(TINY, tuple(records))


def test_the_page_states_where_the_default_loses_and_only_there():
    text = page.page([made_up(default_wins=False)])
    told = [line for line in text.splitlines() if ": behind " in line]
    assert len(told) == 1
    assert told[0].startswith("- targeted 25 %, α = 0.5: behind ")
    assert "DR-IS by 6.2 (decided)" in told[0]
    assert "decided below in 1. " in text
    assert "another one leads in 1 columns, one without a gate in 1." in text
    best = page.page([made_up(default_wins=True)])
    assert ": behind " not in best
    assert "another one leads in 0 columns, one without a gate in 0." in best
    assert "undecided in 0, decided below in 0. " in best


def test_the_page_says_how_far_behind_the_best_each_rule_is_over_all_columns():
    text = page.page([made_up(default_wins=True)])
    assert f"| {NAMES[DEFAULT]} (default) | 0.0 | 0.0 | 27 |" in text
    assert "| Random | 40.1 | 40.1 | 0 |" in text
    lost = page.page([made_up(default_wins=False)])
    assert f"| {NAMES[DEFAULT]} (default) | 0.6 | 15.0 | 26 |" in lost


def test_the_page_shows_mean_and_spread():
    text = page.page([made_up(default_wins=True)])
    assert f"| {NAMES[DEFAULT]} (default) | **90.2 ± 0.2** |" in text
    assert "| Random | 50.1 ± 0.1 |" in text


def test_figures_are_drawn_from_records_alone(tmp_path):
    studies = {"Digits": made_up(default_wins=False)}
    gaps = {
        "Digits": {
            str(c): page.against_rivals(studies["Digits"], c) for c in studies["Digits"].columns
        }
    }
    for draw, what in (
        (page.difference_figure, gaps),
        (page.rate_figure, studies),
        (page.keep_figure, studies),
    ):
        path = draw(what, tmp_path / "figure.png")
        assert path.read_bytes().startswith(b"\x89PNG")


def test_records_come_back_as_they_were_written(tmp_path):
    cell = cells_of(TINY, TABLE[3], 2, ["aum"])[0]
    record = {
        "cell": asdict(cell),
        "accuracy": 0.123456789,
        "contamination": 0.0,
        "size": 10,
        "passed": None,
        "short": 0,
    }
    found = read_results(write_results(TINY, [record], tmp_path / "r.json"))
    assert found.study == TINY
    assert found.values("accuracy", "aum", Column(TABLE[3], cell.keep)) == [0.123457]
    assert found.values("accuracy", "random", Column(TABLE[3], cell.keep)) == []
    with pytest.raises(InputError, match="no such file"):
        read_results(tmp_path / "absent.json")
