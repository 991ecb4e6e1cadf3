"""Suggested labels in place of dropped rows: where proxies are sure, marked, and checked."""

import csv
import json

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.pipeline.route import MIN_FIX_PROBABILITY, decide, decide_by


def blobs(apart=4.0, n=900):
    """Three classes, a fifth of the labels wrong."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    x = rng.normal(size=(n, 3)) + apart * np.eye(3)[truth]
    given = np.where(rng.random(n) < 0.2, (truth + rng.integers(1, 3, n)) % 3, truth)
    return LabelledData.of(x, given, classes=("a", "b", "c")), truth


def test_sure_suspects_stay_with_the_suggested_label_and_no_limit_covers_them():
    data, truth = blobs()
    decision, plain = (decide(data, fix=fix, workers=1, check_harm=False) for fix in (True, False))
    changed = np.flatnonzero(decision.changed)
    assert changed.size > 80
    assert (decision.labels[changed] == truth[changed]).mean() > 0.95
    assert set(changed.tolist()) <= set(np.flatnonzero(~plain.mask).tolist())
    assert decision.kept.tolist() == sorted({*plain.kept.tolist(), *changed.tolist()})
    assert decision.limits == ()
    (note,) = set(decision.notes) - set(plain.notes)
    bad = (1 - decision.ensemble.assessment.p_suggested[changed]).sum()
    assert f"{changed.size:,} changed labels about {bad:.0f} " in note
    at = decision.suspects.positions
    assert np.array_equal(decision.suspects.dropped, ~decision.mask[at])
    assert plain.fixed is None
    assert not plain.changed.any()
    assert plain.labels is data.labels


def test_a_label_is_changed_from_90_percent_for_the_suggested_one_on():
    data, truth = blobs(apart=2.2, n=1500)  # classes overlap
    ensemble = decide(data, workers=1, check_harm=False).ensemble
    decision, plain = (decide_by(ensemble, keep=None, fix=fix) for fix in (True, False))
    sure = ensemble.assessment.p_suggested >= MIN_FIX_PROBABILITY
    dropped = ~plain.mask
    assert np.array_equal(decision.changed, dropped & sure)
    assert (dropped & ~sure).sum() > 10  # the twin: less sure ones stay dropped
    assert not decision.mask[dropped & ~sure].any()
    assert (decision.labels != truth)[decision.changed].mean() < 0.1


def test_a_fix_goes_with_clean_alone():
    data, _ = blobs()
    for how in ({"keep": 0.5}, {"rule": "gated"}):
        with pytest.raises(InputError, match="fix is for clean"):
            decide(data, fix=True, **how)


def test_the_command_writes_the_labels_and_marks_them(dris, tmp_path):
    data, truth = blobs()
    file = tmp_path / "data.csv"
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["id", "u", "v", "w", "y"])
        for k, row in enumerate(data.x.tolist()):
            writer.writerow([f"r{k}", *row, data.names[data.labels[k]]])
    words = ["--label", "y", "--id", "id", "--no-report", "--skip-harm-check", "--json"]
    code, printed, told = dris("clean", file, "--fix", *words, "--out", tmp_path / "out")
    assert code == 0, told
    rows, issues = (
        list(csv.DictReader((tmp_path / "out" / name).read_text(encoding="utf-8").splitlines()))
        for name in ("cleaned.csv", "issues.csv")
    )
    marked = [row for row in rows if row["dris_fixed"] == "true"]
    assert len(marked) == json.loads(printed)["fixed"] > 80
    right = [row["y"] == data.names[truth[int(row["id"][1:])]] for row in marked]
    assert np.mean(right) > 0.95
    assert sum(row["dropped"] == "fixed" for row in issues) == len(marked)
