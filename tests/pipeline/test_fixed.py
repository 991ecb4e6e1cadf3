"""Suggested labels in place of dropped rows: where proxies are sure, marked, and checked."""

import csv
import json

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.pipeline.harm import Relabelled, measure_harm
from dris.pipeline.route import decide


def blobs(n=400, wrong=60, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    x = rng.normal(size=(n, 3)) + 4 * truth[:, None]
    given = np.where(np.arange(n) < wrong, 1 - truth, truth)
    return LabelledData.of(x, given, classes=("a", "b")), truth


def test_sure_suspects_stay_with_the_suggested_label_and_no_limit_covers_them():
    data, truth = blobs()
    decision, plain = decide(data, fix=True, workers=1), decide(data, workers=1)
    changed = np.flatnonzero(decision.changed)
    assert changed.size > 40
    assert (decision.labels[changed] == truth[changed]).mean() > 0.95
    assert set(changed.tolist()) <= set(np.flatnonzero(~plain.mask).tolist())
    assert decision.kept.tolist() == sorted({*plain.kept.tolist(), *changed.tolist()})
    assert decision.limits == ()
    assert "no limit covers labels that were changed" in decision.notes
    assert f", {changed.size} of them with the suggested label" in str(decision)
    at = decision.suspects.positions
    assert np.array_equal(decision.suspects.dropped, ~decision.mask[at])
    assert plain.fixed is None
    assert not plain.changed.any()
    assert plain.labels is data.labels


def test_the_harm_check_is_of_the_fixed_data():
    data, truth = blobs(n=800, wrong=0)
    table = np.c_[data.x, np.ones(800)].astype(np.float32)

    def inverted(at):  # a fix that is wrong everywhere
        return Relabelled(at[:0], at, 1 - truth[at])

    def right(at):
        return Relabelled(at[::2], at[1::2], truth[at[1::2]])

    worse = measure_harm(table, data.labels, data.names, inverted)
    assert worse.agreement.points < -90
    assert worse.says == "harms"
    same = measure_harm(table, data.labels, data.names, right)
    assert abs(same.agreement.points) < 1


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
    assert len(marked) == json.loads(printed)["fixed"] > 40
    right = [row["y"] == data.names[truth[int(row["id"][1:])]] for row in marked]
    assert np.mean(right) > 0.95
    assert sum(row["dropped"] == "fixed" for row in issues) == len(marked)
