"""The theorems' page: what it claims, what it only shows, and what it says in words."""

import pytest

from experiments.own.theorems import (
    NOISES,
    POSITIVE,
    REJECTED,
    SETUPS,
    SHOWN,
    WIDEST,
    WORST,
    cells,
    claims,
    columns_held,
    tables,
    words,
)
from experiments.records import Records
from experiments.results.claims import Claim
from experiments.scales import SCALES

_UNTOLD = ("tau", "gamma", "bulk", "v_tail", "eq6", "delta_boundary", "delta_boundary_least")


def row(noise, seed, **numbers):
    """A cell with two ensembles of three proxies, which cannot tell τ, and two of eight."""
    one = {name: [numbers.get(name, 0.1) + 0.01 * seed * (1 + len(name) % 5)] * 2 for name in SHOWN}
    mass = {"mass": 0.5, "mass_floor": 0.1, "ratio": 1.0, "ratio_floor": 0.2, "alignment": 0.4}
    aum = {"auroc": 0.99, "guess": 0.9, "bound": numbers.get("bound", 0.05), "runs": 8}
    return {
        "data": "digits",
        "noise": str(noise),
        "seed": seed,
        "result": {
            "separation": {"3": one | {name: [None, None] for name in _UNTOLD}, "8": one},
            "mass": dict.fromkeys(("el2n", "loss", "grand"), mass),
            "aum": aum,
        },
    }


def records(**numbers):
    return Records(
        "theorems",
        "cpu",
        tuple(row(noise, seed, **numbers) for noise in NOISES for seed in (0, 1, 2)),
    )


def test_what_is_proved_is_shown_and_not_claimed():
    result = claims(records())
    assert not [c.text for c in result if "Theorem 2" in c.text or "AUROC" in c.text]
    assert not [c.text for c in result if "radius" in c.text]  # the paper says it is not outpaced
    shown = {table.title for table in tables(records())}
    assert {"Theorem 2: what magnitude scores draw", "Theorem 3: AUM beside its bound"} <= shown
    assert any("α of loss-aligned" in name for table in tables(records()) for name in table.rows)


def test_of_forty_per_cent_only_the_comparison_is_claimed():
    texts = [claim.text for claim in claims(records())]
    assert [text for text in texts if "40 %" in text] == [f"digits: {WIDEST}"]
    assert f"digits, {NOISES[1]}: {POSITIVE}" in texts


@pytest.mark.parametrize(("gap", "outcome"), [(0.5, "reproduced"), (-0.5, "contradicted")])
def test_the_papers_sentence_is_about_the_sign_of_the_gap(gap, outcome):
    result = [c for c in claims(records(delta_boundary=gap)) if c.text.endswith(POSITIVE)]
    assert [c.outcome for c in result] == [outcome] * 2
    assert {c.whose for c in result} == {"the paper's"}


def test_the_words_at_the_top_say_what_the_claims_say():
    result = records(delta_boundary=-0.5, corrupted_most=0.9, rejected=0.99)
    _, sentences, gaps = words(result)
    assert f"{POSITIVE}: holds in 0 of 2, fails in 2" in sentences
    assert (
        columns_held(claims(result), WORST)
        == columns_held(claims(result), REJECTED)
        == "holds in 2 of 2"
    )
    assert "18 ensembles" in gaps
    assert "positive in 0 " in gaps
    assert gaps.endswith("in 0.")
    _, _, other = words(records(delta_boundary=0.5))  # the twin: another gap, another answer
    assert "positive in 18 " in other
    assert other.endswith("in 18.")


def test_a_sentence_that_nothing_tested_was_not_run():
    assert columns_held([Claim("x", "reproduced", "")], WORST) == "was not run"


def test_a_bound_below_one_half_is_called_vacuous():
    *_, third = tables(records())
    assert any("vacuous, below 0.5, in every column" in name for name in third.rows)
    *_, third = tables(records(bound=0.7))
    assert not any("vacuous" in name for name in third.rows)


def test_intervals_stand_in_theorem_one_and_cells_that_cannot_tell_stay_empty():
    first = tables(records())[0].markdown().splitlines()
    assert first[2].startswith("| τ̂ |  | 0.1400 [0.1000, 0.1800] (6) |")


def test_convolutional_networks_are_among_the_setups():
    result = {(c.source.name, c.ensemble.models[0]) for c in cells(SCALES["cpu"])}
    assert ("cifar10", "small_cnn") in result
    assert max(c.seed for c in cells(SCALES["cpu"]) if c.source.name == "cifar10") == 1
    assert all(len(setup) == 4 for setups in SETUPS.values() for setup in setups)
