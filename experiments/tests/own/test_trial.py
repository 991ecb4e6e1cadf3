"""A small Table 1 of one's own: its hold-out, its cells, its page."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dris import InputError, LabelledData
from experiments.dris_internals import MANIFEST, NothingPassesError, canaries_needed
from experiments.kinds import shared, static_cell
from experiments.own.trial import (
    RULES,
    Trial,
    attack_name,
    canary_share,
    cells,
    hold_out,
    run_trial,
    steadiest,
    winners,
)
from experiments.own.trial_page import NAMES, markdown, trial_figure, write_trial
from experiments.records import Records
from experiments.rules import title_of
from experiments.spec import Noise
from experiments.workspace import Workspace

TINY = Trial(epochs=2, examples=600)


def blobs(n=400, trusted=None):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    x = rng.normal(size=(n, 4)) + 3 * np.eye(4)[y]
    return LabelledData.of(x, y, classes=("a", "b", "c"), trusted=trusted)


def made_up(accuracy, by_seed=lambda rule, seed: 0.01 * seed):
    """Three seeds of every rule, by attack and rule a mean; seeds differ by a hundredth."""
    rows = tuple(
        {
            "noise": str(attack),
            "rule": rule,
            "seed": seed,
            "result": {"accuracy": mean + by_seed(rule, seed), "contamination": 0.1, "size": 50},
        }
        for attack, rules in accuracy.items()
        for rule, mean in zip(RULES, rules, strict=True)
        for seed in range(3)
    )
    return Records("trial", "own", rows)


NONE, UNIFORM, TARGETED = Trial().attacks
MEANS = {
    NONE: (0.5, 0.9, 0.6, 0.7, 0.8),
    UNIFORM: (0.5, 0.1, 0.6, 0.7, 0.65),
    TARGETED: (0.5, 0.1, 0.6, 0.7, 0.65),
}
FOUND = made_up(MEANS)


def test_no_test_example_is_trained_on():
    data = blobs()
    split = hold_out(data)
    assert (len(split.x), len(split.test_x)) == (320, 80)
    rows = {row.tobytes() for row in split.x}
    assert not rows & {row.tobytes() for row in split.test_x}
    assert "given labels" in split.notes[0]


def test_trusted_labels_are_tested_on_when_there_are_enough_and_not_when_few():
    many = np.arange(400) < 150
    split = hold_out(blobs(trusted=many))
    vouched = {row.tobytes() for row in blobs().x[many]}
    assert {row.tobytes() for row in split.test_x} <= vouched
    assert split.notes == ("tested on 80 trusted labels",)
    few = hold_out(blobs(trusted=np.arange(400) < 5))
    assert "given labels" in few.notes[0]


def test_large_data_is_drawn_from_and_that_is_said():
    split = hold_out(blobs(1000), TINY)
    assert len(split.x) + len(split.test_x) == 600
    assert "600 of 1,000" in split.notes[1]


@pytest.mark.parametrize("n", [200, 400, 1438, 100_000])
def test_the_gate_gets_the_canaries_that_it_needs(n):
    half = int(canary_share(n) * n) // 2
    assert half >= canaries_needed()


def test_winners_are_the_highest_means_and_a_spread_decides():
    first, second, _ = winners(FOUND)
    assert (first.rule, first.next, second.rule) == ("el2n", "gated", "rank_variance")
    assert "no spread" in str(first)  # of three identical gaps nothing is decided
    slight = made_up(MEANS, lambda rule, seed: 0.001 * seed * (rule == "el2n"))
    assert winners(slight)[0].lead.outcome == "above"
    noisy = made_up(MEANS, lambda rule, seed: (0.4 if seed else -0.4) * (rule == "el2n"))
    assert winners(noisy)[0].lead.outcome == "undecided"  # the twin: spread undoes the decision


def test_the_steadiest_rule_is_never_far_from_the_best():
    rule, loss = steadiest(FOUND)
    assert rule == "gated"
    assert loss == pytest.approx(0.1)


def test_the_page_bolds_the_best_of_each_column_and_states_seeds():
    text = markdown(FOUND, hold_out(blobs()), Trial())
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    assert [line.count("**") for line in rows] == [0, 2, 0, 4, 0]
    assert "91.0 ± 1.0" in rows[1]
    assert "over 3 seeds" in text


def test_a_trial_runs_resumes_without_training_and_is_not_overwritten(
    tmp_path, monkeypatch, experiments
):
    monkeypatch.chdir(tmp_path)
    data = blobs(300)
    lines = ["a,b,c,d,kind"]
    lines += [",".join(map(str, (*x, y))) for x, y in zip(data.x, data.given(), strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ["trial", "data.csv", "--label", "kind", "--epochs", "2", "--workers", "1"]

    def trial(*more):
        code, _, error = experiments(*words, *more)
        return error if code else json.loads(Path("trial-out/trial.json").read_text("utf-8"))

    first = trial()
    assert {path.name for path in (tmp_path / "trial-out").iterdir()} == {*NAMES, MANIFEST, "runs"}
    assert len(first["cells"]) == 3 * len(RULES) * 3
    flips = {c["attack"]: c["contamination"] for c in first["cells"] if c["rule"] == "random"}
    assert flips["as given"] == 0 < flips["uniform 25 %"]
    assert "force" in trial()

    def refuse(*_, **__):
        raise AssertionError("trained again")

    monkeypatch.setattr(shared, "train_proxies", refuse)
    monkeypatch.setattr(static_cell, "train_target", refuse)
    assert trial("--force") == first
    records = (tmp_path / "trial-out/runs/records").glob("*.json")
    min(path for path in records if ".time" not in path.name).unlink()
    with pytest.raises(AssertionError, match="trained again"):  # the twin: a lost cell does train
        trial("--force")


def test_proxies_see_the_attack_and_targets_never_see_canaries(tmp_path, monkeypatch):
    seen = []
    real = static_cell.train_target

    def spy(model, x, y, subset, **how):
        seen.append((np.asarray(y), subset.indices))
        return real(model, x, y, subset, **how)

    monkeypatch.setattr(static_cell, "train_target", spy)
    records, split = run_trial(blobs(300), replace(TINY, epochs=1), store=tmp_path, workers=1)
    trained = [row for row in records.rows if row["result"]["size"]]
    for row, (labels, subset) in zip(trained, seen, strict=True):
        rate = 0.0 if row["noise"] == "clean" else TINY.rate
        assert (labels != split.y).mean() == pytest.approx(rate)
        dirt = row["result"]["contamination"]
        assert (labels != split.y)[subset].mean() == pytest.approx(dirt, abs=1e-6)


def test_a_gate_that_lets_nothing_through_is_a_result_and_is_said(monkeypatch, tmp_path):
    def closed(self, rule, keep, seed):
        if rule == "gated":
            raise NothingPassesError("no example is left: 0 of 240 pass the gate")
        return real(self, rule, keep, seed)

    real = shared.Ensembles.subset
    monkeypatch.setattr(shared.Ensembles, "subset", closed)
    tiny = replace(TINY, epochs=1)
    records, split = run_trial(blobs(300), tiny, store=tmp_path, workers=1)
    assert set(records.values("size", rule="gated")) == {0}
    guessed = records.values("accuracy", rule="gated")
    assert all(accuracy < 0.6 for accuracy in guessed)  # three classes, one is guessed
    page = markdown(records, split, tiny)
    assert "nothing at all in 9" in page
    [row] = [line for line in page.splitlines() if line.startswith(f"| {title_of('gated')} |")]
    assert row.endswith("| – |")  # of nothing no share is corrupt
    assert trial_figure(records, tiny, tmp_path / "trial.png").exists()


def test_a_guess_wins_no_attack():
    records = made_up(MEANS)
    best = winners(records)[0].rule
    for row in records.rows:
        if row["rule"] == best:
            row["result"]["imputed"] = True
    assert winners(records)[0].rule != best
    for row in records.rows:  # every target broke: nobody leads
        row["result"]["imputed"] = True
    assert {winner.lead.outcome for winner in winners(records)} == {"undecided"}


def test_other_data_are_other_cells():
    one, other = (cells(TINY, hold_out(blobs(n))) for n in (300, 310))
    assert not {cell.key for cell in one} & {cell.key for cell in other}
    assert {attack_name(cell.noise) for cell in one} == {
        "as given",
        "uniform 25 %",
        "targeted 25 %",
    }


def test_images_go_through_a_network(tmp_path):
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    x = rng.integers(0, 100, size=(200, 1, 8, 8), dtype=np.uint8) + (100 * y[:, None, None, None])
    data = LabelledData.of(x.astype(np.uint8), y, classes=("dark", "light"))
    split, trial = hold_out(data), Trial(epochs=1)
    assert split.images
    cell = next(c for c in cells(trial, split) if c.noise == Noise("targeted", 0.25))
    assert cell.ensemble.models == ("small_cnn",)
    assert shared.corrupt_cell(cell, split, Workspace(tmp_path)).rate == 0.25


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seeds": 2}, "seeds"),
        ({"keep": 0.0}, "keep"),
        ({"rate": 1.0}, "rate"),
        ({"examples": 10}, "examples"),
    ],
)
def test_bad_settings_are_refused(change, says):
    with pytest.raises(InputError, match=says):
        replace(Trial(), **change)


def test_too_little_data_is_refused():
    with pytest.raises(InputError, match="at least 200"):
        hold_out(blobs(150))


def test_all_three_files_are_written(tmp_path):
    write_trial(FOUND, hold_out(blobs()), Trial(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*NAMES, MANIFEST])
