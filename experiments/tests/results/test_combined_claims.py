import pytest

from experiments.results.claims import Claim, above, falling, together, untestable, within
from experiments.results.table import Table

HIGH, LOW, MIXED = {0: 0.9, 1: 0.8, 2: 0.9}, {0: 0.5, 1: 0.4, 2: 0.4}, {0: 0.9, 1: 0.2, 2: 0.6}


@pytest.mark.parametrize(
    ("outcomes", "whole"),
    [
        (["reproduced", "reproduced"], "reproduced"),
        (["reproduced", "undecided"], "undecided"),
        (["reproduced", "two seeds agree"], "two seeds agree"),
        (["two seeds oppose", "undecided"], "two seeds oppose"),
        (["not testable at this scale", "undecided"], "not testable at this scale"),
        (["waiting for seeds", "undecided"], "waiting for seeds"),
        (["waiting for seeds", "not testable at this scale"], "not testable at this scale"),
        (["contradicted", "waiting for seeds"], "contradicted"),
        (["contradicted", "not testable at this scale"], "contradicted"),
    ],
)
def test_a_claim_of_several_is_as_good_as_its_worst(outcomes, whole):
    result = together("all", [Claim(o, o, "numbers") for o in outcomes])
    assert result.outcome == whole
    assert all(f"{o}: {o}, numbers" in result.evidence for o in outcomes)


def test_a_curve_falls_only_when_every_step_does():
    assert falling("down", {0.1: HIGH, 0.2: LOW}).outcome == "reproduced"
    assert falling("down", {0.2: HIGH, 0.1: LOW}).outcome == "contradicted"
    assert falling("down", {0.1: HIGH, 0.2: MIXED, 0.3: LOW}).outcome == "undecided"
    assert falling("down", {0.1: HIGH, 0.2: {}}).outcome == "waiting for seeds"


@pytest.mark.parametrize(
    ("second", "outcome"),
    [(0.7, "two seeds agree"), (0.3, "undecided")],
)
def test_two_seeds_agree_or_oppose_and_decide_nothing(second, outcome):
    large, small = {0: 0.9, 1: second}, {0: 0.1, 1: 0.4}
    claim = above("a", large, small)
    assert claim.outcome == outcome
    assert "p =" not in claim.evidence
    against = "two seeds oppose" if outcome == "two seeds agree" else outcome
    assert above("a", small, large).outcome == against
    # The twin: a third seed decides.
    assert above("a", {**large, 2: 0.8}, {**small, 2: 0.1}).outcome != "two seeds agree"


def test_a_row_of_fewer_seeds_is_never_the_best_of_a_column():
    values = {("one", "c"): [0.9], ("three", "c"): [0.5, 0.6, 0.7], ("more", "c"): [0.4, 0.5, 0.5]}
    rows = Table("t", ["one", "three", "more"], ["c"], values).markdown().splitlines()[2:]
    assert ["**" in row for row in rows] == [False, True, False]
    assert "<u>" in rows[2]


@pytest.mark.parametrize("seeds", [0, 1])
def test_a_claim_that_lacks_only_seeds_says_how_many(seeds):
    high, low = ({s: v for s, v in one.items() if s < seeds} for one in (HIGH, LOW))
    for claim in (above("a", high, low), within("a", high, low, 0.1)):
        assert claim.outcome == "waiting for seeds"
        assert claim.evidence == f"{seeds} of at least 2 paired seeds"
    # The twin: of what no seed could show it is not said.
    assert untestable("a", "K goes to 16").outcome == "not testable at this scale"


def test_the_evidence_of_a_curve_names_its_means_and_steps():
    told = falling("down", {0.1: HIGH, 0.2: LOW}).evidence
    assert told == "86.7 % at 0.1, 43.3 % at 0.2; each step down: reproduced"


def test_a_curves_steps_are_the_paired_tests():
    assert falling("down", {0.1: MIXED, 0.2: LOW}).outcome == above("", MIXED, LOW).outcome


def test_a_table_without_spread_shows_single_numbers():
    table = Table("t", ["a"], ["p"], {("a", "p"): [0.0041]}, percent=False, digits=4, spread=False)
    assert table.markdown().splitlines()[-1] == "| a | **0.0041** |"
    one, two = (
        Table("t", ["a"], ["p"], {("a", "p"): values}, percent=False, digits=1).markdown()
        for values in ([2.0], [2.0, 2.0])
    )
    assert "**2.0 (1)**" in one  # one value has no spread
    assert "**2.0 ± 0.0 (2)**" in two


def test_the_papers_letters_survive_latex():
    table = Table("α = 0.5, 3 × fc", ["τ̂²_bdry"], ["gap · K"], {("τ̂²_bdry", "gap · K"): [0.1]})
    text = table.latex()
    assert all(ord(letter) < 128 for letter in text)
    assert r"$\hat\tau^2$\_bdry" in text
