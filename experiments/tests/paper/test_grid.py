"""The experiments on the shared grid: what they share, and that their claims hang on the scores."""

from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest

from dris import SCORES
from experiments.dris_internals import RECOMMENDED, Recipe
from experiments.paper import (
    contamination,
    diversity,
    kablation,
    keep,
    pruning,
    significance,
    times,
)
from experiments.records import Records, gather
from experiments.registry import EXPERIMENTS, experiment_of
from experiments.results.paper_values import CONTAMINATION
from experiments.runner import run
from experiments.scales import SCALES, Setup
from experiments.spec import Ensemble, Source, Target, short_name
from experiments.workspace import Workspace

SHALLOW = Recipe(8, 32, 0.05, augment=False)
REAL = {
    # Linear proxies on a thousand digits separate what the attack flips; the paper's claims hold.
    "contamination": {
        "digits: EL2N and consensus keep more corrupted than clean examples",
        "digits: Random keeps more corruption than DR-IS",
        "digits: DR-IS keeps less than half of chance, 12.5 %",
    },
    "kablation": {"mean rank variance of clean above that of corrupted from K = 2 on"},
    "significance": {"targeted 25 %: DR-IS above Random (paper: +7.21 points, n = 7)"},
    "keep": {"digits, α = 0.25: Random above EL2N"},
}


_SLOW = ("contamination", "keep")
TRIED = [pytest.param(name, marks=[pytest.mark.slow] * (name in _SLOW)) for name in REAL]


@pytest.fixture(scope="module")
def scale():
    proxies = Ensemble(("linear",), 3, SHALLOW, "linear", replace(SHALLOW, scored_epoch=8))
    setup = Setup("Digits", Source("digits", 1_000, 500), proxies, Target("linear", SHALLOW))
    return replace(SCALES["smoke"], setups=(setup,), seeds=3, headline=3)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("store"))


def reproduced(name, scale, out, workspace):
    """The texts of the claims that reproduce; the gated rule, which is ours, is left out."""
    pytest.importorskip("torch")
    experiment = experiment_of(name)
    cells = [cell for cell in experiment.cells(scale) if cell.rule != "gated"]
    cells = [replace(c, rule="plain") if c.kind == "ensemble" else c for c in cells]
    records = gather(name, "smoke", run(cells, out=out, workspace=workspace, workers=1))
    return {c.text for c in experiment.module.claims(records) if c.outcome == "reproduced"}


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    return tmp_path_factory.mktemp("honest")


@pytest.mark.parametrize("name", TRIED)
def test_claims_reproduce_where_the_signal_is_real(name, scale, store, honest):
    assert reproduced(name, scale, honest, store) >= REAL[name]


@pytest.mark.parametrize("name", TRIED)
def test_shuffled_scores_take_the_claims_away(name, scale, store, tmp_path, monkeypatch):
    rng = np.random.default_rng(1)
    for rule, score in list(SCORES.items()):
        monkeypatch.setitem(
            SCORES, rule, lambda d, score=score, **how: rng.permutation(score(d, **how))
        )
    # A claim of shuffled scores still comes out by chance in 5 % of such runs; not in this one.
    assert not reproduced(name, scale, tmp_path, store) & REAL[name]


def test_nothing_is_trained_twice_for_another_table():
    for scale in SCALES.values():
        grid = set(pruning.cells(scale))
        assert {c for c in times.cells(scale) if c.kind == "static"} == grid
        assert {c for c in contamination.cells(scale) if c.kind == "static"} <= grid
        assert {c for c in keep.cells(scale) if c.keep == 0.25} <= grid
        assert {c for c in significance.cells(scale) if c.seed < scale.seeds} <= grid


def test_a_column_is_run_under_all_seeds_before_the_next_the_attacks_first():
    for scale in SCALES.values():
        run_in_order = [(c.source, c.noise, c.seed) for c in pruning.cells(scale)]
        columns = [column for column, _ in groupby(run_in_order, lambda key: key[:2])]
        assert len(columns) == len(set(columns)) == 4 * len(scale.setups)
        assert columns[0] == (scale.setups[0].source, pruning.ATTACK)
        seeds = [key[2] for key, _ in groupby(run_in_order)]
        assert seeds == [*range(scale.seeds)] * len(columns)


def test_what_ships_stands_beside_the_paper_at_mid_and_has_claims_once_it_was_run():
    shipped = {n: [c for c in pruning.cells(s) if c.rule == RECOMMENDED] for n, s in SCALES.items()}
    assert {name: len(cells) for name, cells in shipped.items() if cells} == {"mid": 4 * 3}
    assert {cell.source.name for cell in shipped["mid"]} == {"cifar10"}
    assert not any(EXPERIMENTS["pruning"].is_printed(cell) for cell in shipped["mid"])
    rows = [
        {"data": "cifar10", "rule": RECOMMENDED, "seed": 0, "result": {}},
        {"data": "cifar100", "rule": "aum", "seed": 0, "result": {}},
    ]
    for experiment, count in ((pruning, 2), (contamination, 1)):
        told = [c.text for c in experiment.claims(Records("", "", tuple(rows)))]
        assert sum("dris prune" in text for text in told) == count
        assert sum("gated" in text for text in told) == 2 * count  # of both data sets
        assert not any("cifar100" in text for text in told if "dris prune" in text)


def test_every_ordering_of_tables_1_and_2_is_a_claim_whichever_way_it_goes():
    told = {c.text for c in pruning.claims(Records("", "", ({"data": "cifar10"},)))}
    told |= {c.text for c in pruning.claims(Records("", "", ({"data": "cifar100"},)))}
    assert {
        "cifar10, clean: Random above DR-IS",
        "cifar100, clean: DR-IS above Random",
        "cifar10, uniform 10 %: DR-IS above AUM",
        "cifar10, uniform 10 %: Forgetting above Random",
        "cifar10, targeted 25 %: Random above Forgetting",
    } <= told
    ours = {text for text in told if text.startswith("ours: ")}
    # Six rules on CIFAR-10 and five on CIFAR-100 make 15 and 10 pairs a column.
    assert len(told - ours) == 4 * 15 + 4 * 10
    for data, printed in CONTAMINATION.items():
        second = contamination.claims(Records("", "", ({"data": data},)))
        assert sum("keeps more corruption than" in c.text for c in second) == 10, printed


def test_the_anchor_at_mid_is_that_at_cpu_under_every_seed():
    at_cpu, at_mid = (contamination.anchors(SCALES[name]) for name in ("cpu", "mid"))
    assert len(at_cpu) == 1
    assert at_mid == [replace(at_cpu[0], seed=seed) for seed in range(3)]
    assert at_mid == [c for c in contamination.cells(SCALES["mid"]) if c.rule == "plain"]
    assert contamination.anchors(SCALES["paper"]) == []  # its ensembles are these networks


def test_an_anchor_makes_claims_of_the_paper_once_it_has_two_seeds():
    dirt = {"random": 0.25, "el2n": 0.9, "consensus": 0.91, "aum": 0.001, "rank_variance": 0.05}
    at = {"kind": "ensemble", "rule": "plain", "data": "cifar10", "examples": 20_000}
    at["noise"] = str(pruning.ATTACK)
    rows = [
        {**at, "proxies": "three", "seed": s, "result": {"contamination": dirt}} for s in range(2)
    ]
    one, two = (contamination.claims(Records("", "", tuple(rows[:n]))) for n in (1, 2))
    mine = [claim for claim in two if claim not in one]
    assert len(mine) == 13
    assert {claim.outcome for claim in mine} == {"two seeds agree"}
    assert {claim.whose for claim in mine} == {"the paper's"}
    assert all(claim.text.startswith("cifar10, three: ") for claim in mine)


def test_mid_trains_proxies_with_augmentation_and_targets_without():
    for setup in SCALES["mid"].setups:
        assert setup.ensemble.recipe.augment
        assert not setup.target.recipe.augment
        assert (setup.source.side, setup.source.tests) == (None, None)
        for recipe in (setup.ensemble.recipe, setup.ensemble.attack, setup.target.recipe):
            assert recipe.mixed_precision == "everywhere"


def test_the_ablation_of_k_starts_with_the_grids_own_proxies():
    scale = SCALES["cpu"]
    large, small = kablation.cells(scale)[0].ensemble, scale.setups[0].ensemble
    assert replace(large, count=small.count) == small
    assert large.count == 16


def test_k3_shares_its_networks_with_k1_and_k2():
    one, two, three = (setup.ensemble for setup in diversity.setups(SCALES["cpu"]))
    assert three.models[:2] == (*one.models, *two.models)
    assert one.recipe == two.recipe == three.recipe


def test_the_papers_networks_are_as_large_as_the_count_says():
    pytest.importorskip("torch")
    from experiments.dris_torch import build_model
    from experiments.networks.count import multiply_adds

    classes = {"experiments.networks.resnet18:resnet18": 100}
    result = {
        name: multiply_adds(
            build_model(name, (3, 32, 32), classes.get(name, 10), seed=0), (3, 32, 32)
        )
        for name in times.MULTIPLY_ADDS
    }
    assert result == times.MULTIPLY_ADDS


def timed(rule, noise, seed, scoring, target):
    return {
        "kind": "static",
        "data": "cifar10",
        "rule": rule,
        "noise": noise,
        "seed": seed,
        "seconds": {"scoring cpu": scoring, "target cpu": target, "target": 2 * target},
    }


def test_what_proxies_cost_is_told_in_seconds_beside_multiply_adds():
    names = [*times.MULTIPLY_ADDS, "small_cnn"]
    cost = {(True, False): 1.0, (False, False): 9.0, (False, True): 8.0}
    rows = [
        {
            "kind": "steps",
            "seed": seed,
            "proxies": short_name(name),
            "result": {"multiply_adds": times.MULTIPLY_ADDS.get(name, 6_000_000)},
            "seconds": {
                "steps cpu": cost[name in times.PROXIES, name == "small_cnn"] + 0.01 * seed
            },
        }
        for seed in range(3)
        for name in names
    ]
    claims = times.claims(Records("times", "cpu", tuple(rows)))
    *paper, small = claims
    assert [claim.outcome for claim in paper] == ["contradicted", "reproduced"]  # 11.1 and 8.9 %
    assert all("by multiply-adds" in claim.evidence for claim in claims)
    assert (small.whose, small.outcome) == ("ours", "contradicted")


def test_who_waits_for_the_proxies_pays_and_ensembles_from_the_store_are_not_counted():
    rows = [
        timed("random", "clean", 0, 90.0, 20.0),
        timed("rank_variance", "clean", 0, 0.5, 30.0),
        timed("random", "clean", 1, 1.0, 20.0),
        timed("rank_variance", "clean", 1, 0.5, 20.0),
        timed("gated", "clean", 0, 200.0, 20.0),
    ]
    records = Records("times", "cpu", tuple(rows))
    assert times.waited(records, "cifar10") == {("clean", 0): 90.0}
    assert times.share(records, "cifar10") == {("clean", 0): 0.75}


def watched_rows(intervals):
    known = diversity.ensembles(Records("diversity", "smoke", ()))
    return Records(
        "diversity",
        "smoke",
        tuple(
            {
                "kind": "ensemble",
                "proxies": known[name],
                "seed": 0,
                "result": {"tau2_boundary": [(low + high) / 2, low, high]},
            }
            for name, (low, high) in zip(known, intervals, strict=True)
        ),
    )


@pytest.mark.parametrize(
    ("intervals", "outcome"),
    [
        ([(0.1, 0.3), (0.2, 0.4), (0.25, 0.5)], "reproduced"),
        ([(0.1, 0.2), (0.3, 0.4), (0.5, 0.6)], "contradicted"),
        ([(0.1, 0.3), (0.2, 0.4), (0.5, 0.6)], "undecided"),
    ],
)
def test_intervals_overlap_all_none_or_some(intervals, outcome):
    records = watched_rows(intervals)
    known = diversity.ensembles(records)
    assert diversity.overlap(records, known).outcome == outcome


def test_one_mode_has_no_valley_and_two_have():
    rng = np.random.default_rng(0)
    # 20,000 draws: smoothed bins of a single mode stray by less than a tenth of a twentieth's peak.
    one = np.histogram(rng.exponential(0.01, 20_000), 40, (0, 0.1))[0].tolist()
    apart = np.histogram(rng.normal(0.06, 0.008, 20_000), 40, (0, 0.1))[0].tolist()
    assert kablation.valley(one) < 0.1
    assert kablation.valley([a + b for a, b in zip(one, apart, strict=True)]) > 0.5
