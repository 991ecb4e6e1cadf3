"""The page about cleaning says what was recorded, and its noise is what it says."""

import copy
import json
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cells():
    from experiments.studies.clean import recorded

    return recorded()


def cell(**other):
    """A made cell of a set that did not choose, in which nothing happens."""
    ways = ("everything", "oracle", "cleanlab", "aum", "clean", "prune-50", "prune-25")
    lots = tuple(f"random-{way}" for way in ways[4:])
    told = {"rule": "clean", "limit": 0.05, "limit_says": "something", "true": 0.01}
    told |= {"harm": {"plain": [2.0, 0.5], "chance": [2.0, 0.5]}}
    return {
        "set": "mnist",
        "noise": "uniform-10",
        "seed": 0,
        "rows": 1000,
        "wrong": 0.1,
        "range": [0.08, 0.2],
        "kept": dict.fromkeys(ways, 1000),
        "left": dict.fromkeys(ways[2:], 0.1),
        "accuracy": {target: dict.fromkeys(ways + lots, 90.0) for target in ("LR", "MLP")},
        "detection": {way: [0.9, 0.8] for way in ("dris", "cleanlab", "aum")},
        "said": {way: copy.deepcopy(told) for way in ways[4:]},
        "seconds": {"dris": 1.0, "cleanlab": 1.0, "aum": 1.0},
        **other,
    }


def numbers(text):
    """The numbers of every row of every table."""
    return [re.findall(r"-?\d[\d,.]*", row) for row in text.splitlines() if row.startswith("|")]


def test_the_tables_have_the_numbers_of_the_record(cells):
    from experiments.studies.clean_page import page

    written = numbers((ROOT / "results/clean.md").read_text(encoding="utf-8"))
    assert written == numbers(page(cells))
    other = copy.deepcopy(cells)  # the twin: another number is another page
    other[-1]["accuracy"]["LR"]["clean"] += 30
    assert written != numbers(page(other))


def test_an_aim_is_missed_where_a_printed_limit_lies_below_the_truth():
    from experiments.studies.clean_page import answer

    assert "without being withdrawn: met.** Of 3" in answer([cell()])
    broken = cell()
    broken["said"]["clean"]["true"] = 0.12
    said = answer([broken])
    assert "without being withdrawn: missed.** Of 3" in said
    assert "1 of these was below the truth, by up to 7.0 points" in said
    broken["said"]["clean"]["limit_says"] = "not to be trusted"
    assert "without being withdrawn: met.** Of 3 decisions with a limit 2" in answer([broken])


def test_an_aim_is_missed_more_than_a_point_below_the_better_of_two():
    from experiments.studies.clean_page import answer

    some = cell()
    some["accuracy"]["LR"]["cleanlab"] = some["accuracy"]["MLP"]["cleanlab"] = 91.0
    assert "better of the two: met" in answer([some])
    some["accuracy"]["LR"]["cleanlab"] = 91.2
    assert "better of the two: missed" in answer([some])
    assert "mnist uniform 10 % -1.1" in answer([some])


def test_above_both_on_average_is_met_missed_or_not_to_be_told():
    from experiments.studies.clean_page import answer

    def said(*gains):
        cells = [cell(noise=noise) for noise, _ in zip(("uniform-10", "class"), gains, strict=True)]
        for one, gain in zip(cells, gains, strict=True):
            for reached in one["accuracy"].values():
                reached["clean"] += gain
        return answer(cells).split(".**")[0]

    assert said(2.0, 2.1) == "- **Above both on average: met"
    assert said(-2.0, -2.1) == "- **Above both on average: missed"
    assert said(2.0, -1.9) == "- **Above both on average: cannot tell"


def test_a_harm_check_is_of_what_it_refused_and_a_wrong_sign_counts_where_it_took_a_side():
    from experiments.studies.clean_cells import checks, signs

    some = cell()
    for reached in some["accuracy"].values():
        reached["clean"], reached["prune-50"], reached["prune-25"] = 92.0, 88.0, 88.0
    assert signs(checks([some], "chance")) == (2, 3)
    some["said"]["prune-25"]["harm"]["chance"] = [0.5, 0.5]  # cannot tell
    assert signs(checks([some], "chance")) == (1, 2)
    some["kept"]["clean-refused"] = 900
    for reached in some["accuracy"].values():
        reached["clean-refused"] = 89.0
    assert signs(checks([some], "chance")) == (2, 2)


def test_a_dispute_is_two_intervals_on_opposite_sides_of_zero():
    from experiments.studies.clean_cells import disputes

    some = cell()
    assert disputes([some]) == (0, 0)
    for reached in some["accuracy"].values():
        reached["clean"], reached["prune-50"] = 88.0, 92.0
    for way in ("clean", "prune-50"):
        some["said"][way]["harm"]["plain"] = [-2.0, 0.5]
    assert disputes([some]) == (2, 1)
    some["said"]["clean"]["harm"]["plain"] = [-0.5, 0.5]  # cannot tell
    assert disputes([some]) == (1, 0)


def test_class_dependent_noise_moves_exactly_its_share_of_every_class():
    from experiments.studies.clean_noise import class_dependent

    y = np.repeat([0, 1, 2], [40, 61, 20])
    counts = [np.bincount(class_dependent(y, seed=3)[y == c], minlength=3) for c in range(3)]
    assert np.array(counts).tolist() == [[38, 2, 0], [21, 40, 0], [1, 0, 19]]
    assert (class_dependent(y, seed=3) != class_dependent(y, seed=4)).any()


@pytest.mark.parametrize(("kind", "count"), [("none", 0), ("uniform-10", 30), ("uniform-40", 120)])
def test_uniform_noise_moves_exactly_its_share(kind, count):
    from experiments.studies.clean_noise import corrupted

    y = np.arange(300) % 3
    assert int((corrupted(kind, np.zeros((300, 1)), y, 0) != y).sum()) == count


def test_confusable_noise_moves_exactly_a_fifth_and_only_between_what_is_confused():
    from experiments.studies.clean_noise import confusable

    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    x = rng.normal(size=(300, 2)) + 100 * (y == 2)[:, None]  # 0 and 1 overlap, 2 is far away
    given = confusable(x, y, seed=0)
    assert int((given != y).sum()) == 60
    assert (given[y == 2] == 2).all()
    assert (given[y != 2] != 2).all()


def test_the_page_about_the_range_says_what_was_recorded():
    from experiments.studies.range_sets import PARTS
    from experiments.studies.ranges import PAGE, RECORD, page

    cells = json.loads((ROOT / RECORD).read_text(encoding="utf-8"))
    assert numbers(page(cells)) == numbers((ROOT / PAGE).read_text(encoding="utf-8"))
    assert len(cells) == 12 * sum(map(len, PARTS.values()))
    worse = [{**c, "low": 1.0} for c in cells]  # the twin
    assert "In 0% of 180" in page(worse)


def test_the_range_was_looked_at_on_no_set_that_was_kept_aside():
    from experiments.studies.clean_sets import SETS
    from experiments.studies.range_sets import PARTS

    tables = {one.name for part in ("before", "large") for one in PARTS[part]} | set(SETS)
    assert not tables & {one.name for one in PARTS["aside"]}
