"""What is said of a decision: which numbers it holds, and when."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dris.pipeline.harm import Change, Harm
from dris.pipeline.route import decide_by
from dris.pipeline.wording import EVERYTHING, facts, kind_of_noise, notes_to_print, sentences
from made_ensemble import made_ensemble


@pytest.fixture(scope="module")
def decision():
    return decide_by(made_ensemble()[0], keep=None)


def all_kept(decision, why):
    every = np.arange(len(decision))
    return replace(decision, kept=every, rule=EVERYTHING, notes=(why,))


def test_the_data_come_first_then_how_many_labels_are_wrong_and_what_was_done(decision):
    said = facts(decision, "my.csv")
    assert list(said)[:2] == ["data", "found"]
    assert "my.csv" in said["data"]
    assert "2,000" in said["data"]
    assert said["found"].startswith(f"{len(decision.suspects):,} ")
    assert f"{decision.kept.size:,}" in said["kept"]


def test_where_nothing_is_dropped_that_and_the_reason_come_first(decision):
    undone = all_kept(decision, "it rains")
    said = facts(undone)
    assert list(said)[1] == "kept"
    assert "it rains" in said["kept"]
    assert "it rains" in sentences(undone, "my.csv")["headline"]
    assert notes_to_print(undone) == []  # no reason is said twice


@pytest.mark.parametrize(("points", "word"), [(2.0, ""), (-2.0, "harm"), (0.5, "no clear gain")])
def test_the_change_is_there_with_its_error_and_the_worst_class(decision, points, word):
    harm = Harm(Change(points, 0.5), {}, {"a": 1.0, "b": -3.0}, 2000, 0.9)
    text = facts(replace(decision, harm=harm))["change"]
    assert f"{points:+.1f} ± 0.5".replace("-", "−") in text
    assert '"b" −3.0' in text
    assert word in text


def test_a_limit_is_stated_with_its_condition_or_not_at_all():
    pruned = decide_by(made_ensemble()[0], keep=0.25)
    assert pruned.limit is not None
    assert facts(pruned)["limit"].startswith("If ")
    assert "limit" not in facts(replace(pruned, limits=()))


def test_the_pages_command_finds_the_data_and_what_was_trained(decision):
    files = replace(decision.data.origin, files=(Path("data/my.csv"),))
    held = replace(decision, data=replace(decision.data, origin=files))
    assert sentences(held, "my.csv", Path("dris-out"))["next"] == "dris review data/my.csv"
    assert sentences(held, "my.csv", Path("o"))["next"] == "dris review data/my.csv --out o"


def test_a_change_too_small_to_measure_says_so(decision):
    kept = np.arange(1, len(decision))
    one = replace(decision, harm=None, kept=kept)
    assert facts(one)["change"].endswith("not measured: 1 row would not show")
    assert facts(replace(one, kept=kept[9:]))["change"].endswith("not measured")


def test_the_checks_and_the_noise_rate_agree_about_natural_noise(decision):
    judgement = replace(decision.judgement, regime="natural noise")
    natural = replace(decision, judgement=judgement, natural=True)
    assert kind_of_noise(natural) == "natural noise"
    assert kind_of_noise(replace(natural, natural=False)) == "hard examples"
