"""The pages about cleaning say what was recorded, and the noise is what it says."""

import re
from pathlib import Path

import numpy as np
import pytest

from experiments.studies import clean_noise
from experiments.studies.clean import read_cells
from experiments.studies.clean_page import answer, clean_page, natural_page
from experiments.studies.clean_runs import Runs, checks, gains
from experiments.studies.clean_sets import SETS

RESULTS = Path(__file__).parents[2] / "results"
JUDGED = next(name for name, one in SETS.items() if not one.chose)


def cells(arm="clean", noise="uniform", **other):
    """The arms of one case of a set that did not choose, in which nothing happens."""
    common = {"set": JUDGED, "noise": noise, "seed": 0, "commit": "abc", "rows": 1000, "classes": 2}
    common |= {"wrong": 0.2, "kept": 1000, "seconds": 2.0, "suspects": [200, 180]}
    common |= {"auroc": 0.9, "ap": 0.8, "rate": [0.2], "accuracy": {"LR": 80.0, "MLP": 82.0}}
    ours = {"rate": [0.2, 0.18, 0.22], "expected": 180.0, "harm": [0.0, 0.1], "beside": 1.0}
    names = ("everything", "cleanlab LR", "cleanlab trees", "AUM", "clean", "weights", "oracle")
    made = {name: common | {"arm": name} for name in names}
    made["clean"] |= ours | {"bins": [[100] * 10] * 3}
    made[arm] |= other
    return list(made.values())


def numbers(text):
    """The numbers of every row of every table."""
    return [re.findall(r"-?\d[\d,.]*", row) for row in text.splitlines() if row.startswith("|")]


def read(name):
    return list(read_cells(RESULTS / "records" / f"{name}.jsonl").values())


@pytest.mark.parametrize("name", ["clean", "natural"])
def test_the_tables_have_the_numbers_of_the_record(name, tmp_path):
    recorded, earlier = read(name), read("clean-earlier")

    def page(some):
        return natural_page(some) if name == "natural" else clean_page(some, earlier, tmp_path)

    written = numbers((RESULTS / f"{name}.md").read_text(encoding="utf-8"))
    assert written == numbers(page(recorded))
    other = [c | {"suspects": [7, 3]} if c["arm"] == "clean" else c for c in recorded]
    assert written != numbers(page(other))  # the twin: another record is another page


@pytest.mark.parametrize(
    ("aim", "met", "missed"),
    [
        ("dropped", {"noise": "none", "kept": 995}, {"noise": "none", "kept": 960}),
        ("below", {"accuracy": {"LR": 79.1, "MLP": 81.1}}, {"accuracy": {"LR": 78.9, "MLP": 80.9}}),
        ("Ahead", {"accuracy": {"LR": 81.1, "MLP": 83.1}}, {"accuracy": {"LR": 80.9, "MLP": 82.9}}),
        ("AUROC", {"auroc": 0.9}, {"auroc": 0.89}),
        ("precision", {"ap": 0.8}, {"ap": 0.79}),
        ("Expected", {"expected": 197.0}, {"expected": 199.0}),
        ("covered", {"rate": [0.25, 0.2, 0.3]}, {"rate": [0.25, 0.21, 0.3]}),
        ("Harm", {"harm": [0.9, 0.6]}, {"harm": [1.1, 0.9]}),
        ("Harm", {"harm": [0.5, 0.2]}, {"harm": [0.5, 0.2], "accuracy": {"LR": 79.9, "MLP": 82.0}}),
        ("twice", {"seconds": 2.0}, {"seconds": 2.1}),
    ],
)
def test_an_aim_is_met_up_to_its_number_and_missed_beyond(aim, met, missed):
    def says(change):
        lines = answer(Runs(cells(**change))).splitlines()
        return next(line for line in lines if aim in line).split(".**")[0].split(": ")[-1]

    assert (says(met), says(missed)) == ("met", "missed")


def test_a_harm_check_is_held_to_what_it_refused():
    refused = cells(harm=[-2.0, 0.5], refused={"LR": 78.0, "MLP": 80.0})
    assert checks(Runs(refused)) == [(-2.0, 0.5, -2.0)]
    assert checks(Runs(cells(harm=[-2.0, 0.5]))) == [(-2.0, 0.5, 0.0)]


def test_the_best_of_cleanlab_counts_and_a_case_without_its_peers_does_not():
    better = cells("cleanlab trees", accuracy={"LR": 81.0, "MLP": 83.0})
    assert gains(Runs(better), "clean") == {(JUDGED, "uniform"): (0.0, -1.0)}
    assert not Runs(c for c in better if "cleanlab" not in c["arm"] and c["arm"] != "AUM").by


@pytest.mark.parametrize("kind", ["uniform", "lookalike", "confusable"])
def test_noise_moves_exactly_a_fifth_and_lookalikes_get_it(kind):
    rng, y = np.random.default_rng(0), np.arange(300) % 3
    x = rng.normal(size=(300, 2)) + 100 * (y == 2)[:, None]  # 0 and 1 overlap, 2 is far away
    given = clean_noise.NOISES[kind][1](x, y, 0)
    assert int((given != y).sum()) == 60
    crossed = ((given == 2) & (y != 2)).sum()
    assert (crossed > 10) if kind == "uniform" else (crossed < 5)


def test_class_dependent_noise_moves_exactly_its_share_of_every_class():
    y = np.repeat([0, 1, 2], [40, 61, 20])
    given = clean_noise.class_dependent(y[:, None], y, 3)
    counts = [np.bincount(given[y == c], minlength=3).tolist() for c in range(3)]
    assert counts == [[38, 2, 0], [24, 37, 0], [1, 0, 19]]


def test_the_rate_that_varies_does_and_is_a_fifth_on_average():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6000, 1)), rng.integers(0, 3, 6000)
    wrong = clean_noise.varying(x, y, 0) != y
    low, high = sorted((wrong[x[:, 0] < 0].mean(), wrong[x[:, 0] > 0].mean()))
    assert wrong.mean() == pytest.approx(0.2, abs=0.02)  # four standard errors
    assert high - low > 0.15
