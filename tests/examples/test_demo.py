"""The demo of the README: the method works on attacked digits, with the numbers quoted there."""

import re
from pathlib import Path

import pytest

from examples import demo
from experiments.datasets.catalogue import load

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def results():
    data = load("digits")
    return [demo.run(data, demo.attack(data, seed), seed) for seed in range(2)]


def test_dr_is_keeps_little_corruption_and_beats_random_where_magnitudes_collapse(results):
    for seed in results:
        dr_is, random, el2n = (seed[rule] for rule in ("rank_variance", "random", "el2n"))
        assert dr_is.corrupt < 0.1 < random.corrupt < 0.4 < el2n.corrupt
        assert el2n.accuracy < 0.2 < random.accuracy < dr_is.accuracy


def test_the_table_has_a_row_for_every_rule(results, capsys):
    demo.show(results)
    rows = capsys.readouterr().out.splitlines()[-len(demo.RULES) :]
    for row, (title, *paper) in zip(rows, demo.RULES.values(), strict=True):
        assert row.startswith(title)
        assert row.split()[-1] == paper[-1]


@pytest.mark.slow
def test_the_readme_quotes_what_the_demo_prints(capsys):
    demo.main(5)
    lines = capsys.readouterr().out.splitlines()
    printed = [line for line in lines if "±" in line or "clean" in line]
    quoted = re.sub(r"^    ", "", README.read_text(encoding="utf-8"), flags=re.M)
    assert len(printed) == len(demo.RULES) + 2
    assert Path(demo.__file__).name == "demo.py"
    assert all(line in quoted for line in printed[1:])
