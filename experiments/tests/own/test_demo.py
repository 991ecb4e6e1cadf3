"""The demo really runs, says what its runs say, and says the opposite of shuffled scores."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

from dris.core.scores.formulas import SCORES
from dris.core.streams import rng_for
from experiments.cell_data import Place
from experiments.kinds.groups import prepared
from experiments.own import demo
from experiments.records import Records
from experiments.rule_names import title_of

SEEDS = 4


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def honest(place):
    return demo.ran(SEEDS, place, workers=1)


def test_the_method_works_on_attacked_digits(honest):
    outcome, text = demo.judged(honest)
    assert outcome == "holds"
    assert text.startswith("The method works here")
    assert "EL2N" in text.split("below Random")[0]


@pytest.mark.slow
def test_shuffled_scores_make_the_verdict_say_the_opposite(honest, place, monkeypatch):
    for rule, score in list(SCORES.items()):

        def shuffled(dynamics, rule=rule, score=score):
            return rng_for(int(dynamics.ids[0]), "shuffle", rule).permutation(score(dynamics))

        monkeypatch.setitem(SCORES, rule, shuffled)
    for path in (place.store / "records").iterdir():
        path.rename(path.with_suffix(".honest"))
    records = demo.ran(SEEDS, place, workers=1)
    for path in (place.store / "records").glob("*.honest"):
        path.rename(path.with_suffix(".json"))
    outcome, text = demo.judged(records)
    assert outcome == "fails"
    assert text.startswith("The method does not work here")
    chance = np.mean(records.values("contamination", rule="el2n"))
    assert chance == pytest.approx(0.25, abs=0.08)  # 4 x 360 draws: seven standard errors


def test_too_few_seeds_cannot_tell(honest):
    one = Records("demo", "demo", tuple(row for row in honest.rows if row["seed"] == 0))
    assert demo.judged(one)[0] == "cannot tell"


def test_each_rule_meets_the_same_attack_and_each_seed_another(honest, place):
    assert len(honest.rows) == SEEDS * len(demo.RULES)
    first, second = (
        prepared([cell for cell in demo.cells(2) if cell.seed == seed], place, {})[1]
        for seed in (0, 1)
    )
    assert first.flipped.sum() == second.flipped.sum() == 360  # exactly ⌊0.25 · 1442⌋
    assert not np.array_equal(first.flipped, second.flipped)


def test_the_random_subset_differs_from_seed_to_seed(honest, place):
    subsets = [
        prepared(cells, place, {})[2].subset("random", 0.25, cells[0].seed).indices
        for cells in (demo.cells(2)[:1], demo.cells(2)[-1:])
    ]
    assert not np.array_equal(*subsets)


def test_the_page_shows_every_rule_beside_the_papers_row(honest):
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(demo.table_of(honest))
    text = console.export_text()
    for rule in demo.RULES:
        assert title_of(rule) in text
    assert "0.072" in text
    assert "81.9" in text


def test_show_writes_the_figure_and_the_numbers(honest, place, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "ran", lambda *a, **k: honest)
    monkeypatch.setattr(demo, "Place", lambda folder: place)
    outcome, _ = demo.show(SEEDS, out=tmp_path / "new" / "folder")
    found = json.loads((tmp_path / "new" / "folder" / "demo.json").read_text(encoding="utf-8"))
    assert found["outcome"] == outcome
    assert len(found["runs"]) == len(honest.rows)
    picture = (tmp_path / "new" / "folder" / "rank-variance.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert "wrote" in capsys.readouterr().out
