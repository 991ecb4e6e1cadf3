"""The demo really runs, says what its runs say, and says the opposite of shuffled scores."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

from dris.bench import demo, demo_page
from dris.core.errors import InputError
from dris.core.streams import rng_for

SHORT = demo.Setting(seeds=(0, 1, 2, 3), target_epochs=20)


def shuffled(rule, dynamics):
    score = demo.registered(rule, dynamics)
    return rng_for(int(dynamics.ids[0]), "shuffle", rule).permutation(score)


@pytest.fixture(scope="module")
def honest():
    return demo.run(SHORT, workers=1)


def test_the_method_works_on_attacked_digits(honest):
    runs, _ = honest
    judgement = demo.judge(runs, SHORT)
    assert judgement.outcome == "holds"
    assert judgement.text.startswith("The method works here")
    assert "EL2N" in judgement.text.split("below Random")[0]


@pytest.mark.slow
def test_shuffled_scores_make_the_verdict_say_the_opposite(honest, monkeypatch):
    _, proxied = honest
    monkeypatch.setattr(demo, "_attack_and_train", lambda data, setting, seed, tick: proxied[seed])
    runs, _ = demo.run(SHORT, score_of=shuffled, workers=1)
    judgement = demo.judge(runs, SHORT)
    assert judgement.outcome == "fails"
    assert judgement.text.startswith("The method does not work here")
    chance = np.mean(demo.values(runs, "el2n", "contamination"))
    assert chance == pytest.approx(0.25, abs=0.08)  # 4 x 360 draws: seven standard errors


def test_too_few_seeds_cannot_tell(honest):
    runs, _ = honest
    two = demo.Setting(seeds=(0,))
    assert demo.judge([r for r in runs if r.seed == 0], two).outcome == "cannot tell"


def test_each_rule_meets_the_same_attack_and_each_seed_another(honest):
    runs, proxied = honest
    assert len(runs) == 4 * len(demo.RULES)
    assert {int(p.flipped.sum()) for p in proxied} == {360}  # exactly ⌊0.25 · 1442⌋
    assert not np.array_equal(proxied[0].flipped, proxied[1].flipped)


def test_the_random_subset_differs_from_seed_to_seed(honest):
    _, proxied = honest
    scores = [demo.registered("random", p.dynamics) for p in proxied]
    assert not np.array_equal(scores[0], scores[1])


def test_the_page_shows_every_rule_beside_the_papers_row(honest):
    runs, _ = honest
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(demo_page.table_of(runs, SHORT))
    text = console.export_text()
    for name in demo.RULES.values():
        assert name in text
    assert "0.072" in text
    assert "81.9" in text


def test_show_writes_the_figure_and_the_numbers(honest, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "run", lambda *a, **k: honest)
    judgement = demo_page.show(SHORT, out=tmp_path / "new" / "folder")
    found = json.loads((tmp_path / "new" / "folder" / "demo.json").read_text())
    assert found["outcome"] == judgement.outcome
    assert len(found["runs"]) == len(honest[0])
    demo_page.show(SHORT, out=tmp_path / "new" / "folder")  # its own files of the last time
    picture = (tmp_path / "new" / "folder" / "rank-variance.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert "wrote" in capsys.readouterr().out


def test_show_refuses_before_it_runs_to_replace_what_was_edited(honest, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "run", lambda *a, **k: honest)
    demo_page.show(SHORT, out=tmp_path)
    (tmp_path / "demo.json").write_text("mine")
    monkeypatch.setattr(demo, "run", None)
    with pytest.raises(InputError, match=r"demo\.json was changed since dris wrote it"):
        demo_page.show(SHORT, out=tmp_path)
    assert (tmp_path / "demo.json").read_text() == "mine"
