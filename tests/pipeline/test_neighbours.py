"""Near-duplicates and outliers of a decision: listed, never dropped unasked."""

import csv
import re

import numpy as np
import pandas as pd
import pytest

import dris
from commands import run_dris
from dris.pipeline.wording import reasons

HOW = {"workers": 1, "check_harm": False}


def made(n=300):
    """Two blobs: rows 0-4 nearly copied by 10-14, the first two with another label; 20 is far."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    x = rng.normal(size=(n, 5)) + 3 * y[:, None]
    y[10:15] = y[:5]
    x[10:15] = x[:5] + 0.002 * rng.normal(size=(5, 5))
    y[10:12] = 1 - y[:2]
    x[20] = 50
    return x, y


def test_groups_with_different_labels_come_first_and_nothing_is_dropped_unasked():
    x, y = made()
    decision = dris.clean(x, y, **HOW)
    groups = [rows.tolist() for rows in decision.near_duplicates]
    assert sorted(groups) == [[i, 10 + i] for i in range(5)]
    assert groups[:2] == [[0, 10], [1, 11]]
    assert decision.outliers.tolist() == [20]
    dropped = set(range(len(y))) - set(decision.kept)
    assert dropped == set(np.flatnonzero(decision.p_wrong > 0.5))


def test_keep_one_keeps_the_likelier_right_of_each_group_and_all_that_is_trusted():
    x, y = made()
    frame = (
        pd.DataFrame(x).add_prefix("f").assign(label=y, sure=np.isin(np.arange(len(y)), [4, 14]))
    )
    plain = dris.clean(frame, trusted="sure", **HOW)
    one = dris.clean(frame, trusted="sure", near_duplicates="keep-one", **HOW)
    assert set(one.kept) <= set(plain.kept)
    for i in range(4):
        assert sum(row in one.kept for row in (i, 10 + i)) == 1
    for i in range(2):  # the copy whose label the models contradict goes
        assert i in one.kept
    assert {4, 14} <= set(one.kept)
    assert not one.limits
    with pytest.raises(dris.InputError, match="near_duplicates"):
        dris.clean(frame, near_duplicates="drop", **HOW)


def test_the_command_writes_them_beside_the_issues(tmp_path):
    x, y = made()
    frame = pd.DataFrame(x).add_prefix("f").assign(label=y)
    frame.to_csv(tmp_path / "a.csv", index=False)
    out = tmp_path / "dris-out"
    for more, kept in (((), 2), (("--near-duplicates", "keep-one", "--force"), 1)):
        done = run_dris(
            "clean", "a.csv", "--workers", "1", "--skip-harm-check", *more, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        lines = list(csv.DictReader((out / "neighbours.csv").read_text("utf-8").splitlines()))
        assert [line["kind"] for line in lines][-1] == "outlier"
        assert lines[0]["kind"].endswith("differ")
        assert sum(line["kept"] == "yes" for line in lines if line["group"] == "5") == kept
    assert 'id="neighbours"' in (out / "report.html").read_text("utf-8")


def test_the_datalab_frame_has_its_columns_and_the_same_issues():
    x, y = made()
    decision = dris.clean(x, y, **HOW)
    frame = decision.to_datalab()
    kinds = ("label", "outlier", "near_duplicate")
    assert {f"is_{kind}_issue" for kind in kinds} | {f"{kind}_score" for kind in kinds} <= set(
        frame
    )
    assert (frame["is_label_issue"] == (decision.p_wrong > 0.5)).all()
    assert np.flatnonzero(frame["is_outlier_issue"]).tolist() == [20]
    assert frame["outlier_score"].idxmin() == 20
    near = frame["is_near_duplicate_issue"]
    assert near.sum() == 10
    assert (
        frame.loc[near, "near_duplicate_score"].max()
        < frame.loc[~near, "near_duplicate_score"].min()
    )


def test_prune_counts_every_row_once_by_class_and_by_reason():
    x, y = made()
    decision = dris.prune(x, y, keep=0.5, **HOW)
    why = reasons(decision)
    assert (why == 0).sum() == decision.kept.size
    assert ((why == 1) == ((decision.p_wrong > 0.5) & ~decision.mask)).all()
    line = next(line for line in decision.lines() if line.startswith("By class"))
    counts = [int(word) for word in re.findall(r"\d+", line)]
    assert sum(counts[-3:]) + decision.kept.size == len(y)
    assert not any(line.startswith("By class") for line in dris.clean(x, y, **HOW).lines())
