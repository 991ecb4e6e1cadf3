"""A decision as tables: the labels to look at, and what it says of every example."""

import csv
import io
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.data.reader import read_data
from dris.pipeline.ensemble import scores_of
from dris.pipeline.route import decide, decide_by
from dris.report_page.outputs import COLUMNS, issues_text, kept_columns, score_file
from made_ensemble import made_ensemble


@pytest.fixture(scope="module")
def decision():
    return decide_by(made_ensemble()[0], keep=None)


def lines(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def test_every_suspect_is_a_line_the_most_suspicious_first(decision):
    header, *rows = lines(issues_text(decision))
    assert tuple(header) == COLUMNS
    assert len(rows) == len(decision.suspects) > 100
    for row, one in zip(rows, decision.suspects, strict=True):
        assert row[:3] == [str(one.id), one.given, one.suggested]
        assert float(row[3]) == pytest.approx(min(one.p_wrong, 0.99), rel=1e-3)
        assert row[4:] == ["yes" if one.dropped else "no", one.why]
    dropped = {int(row[0]) for row in rows if row[4] == "yes"}
    assert dropped == set(range(2000)) - set(decision.kept.tolist())
    assert {row[4] for row in rows} == {"yes", "no"}


def test_names_that_pretend_to_be_formulas_are_kept_from_it_and_numbers_stay(decision):
    ids = np.array([f"=cmd{i}" for i in range(2000)])
    names = ("=a", "+b", "-c", "@d", *"efghij")
    hostile = replace(
        decision, suspects=replace(decision.suspects, ids=ids[decision.suspects.positions])
    )
    hostile = replace(hostile, suspects=replace(hostile.suspects, names=names))
    _, *rows = lines(issues_text(hostile))
    assert all(row[0].startswith("'=cmd") for row in rows)
    assert not any(row[1][0] in "=+-@" or (row[2] and row[2][0] in "=+-@") for row in rows)
    assert all(float(row[3]) == float(row[3]) for row in rows)


def test_columns_of_the_data_stand_beside_on_request_guarded_and_under_their_own_heading(decision):
    frame = pa.table(
        {
            "said": [f"=cmd|{i}" for i in range(2000)],
            "reason": [f"why {i}" for i in range(2000)],
            "big": np.arange(2000) + 123456789.0,
            "y": [str(i % 10) for i in range(2000)],
        }
    )
    decision = replace(decision, data=read_data(frame, label="y"))
    header, *rows = lines(issues_text(decision, ["said", "reason", "big"]))
    assert header == [*COLUMNS, "said", "reason (data)", "big"]
    for row, one in zip(rows, decision.suspects, strict=True):
        assert row[6:] == [f"'=cmd|{one.id}", f"why {one.id}", str(123456789 + int(one.id))]
    assert lines(issues_text(decision))[0] == list(COLUMNS)


def test_a_score_file_holds_every_score_p_wrong_marks_and_labels():
    ensemble, _ = made_ensemble(n=300)
    decision = decide_by(ensemble, keep=0.25, rule="rank_variance")
    file = score_file(decision)
    assert set(file.scores) == {*scores_of(ensemble.dynamics), "p_wrong"}
    assert file.scores["p_wrong"].tolist() == decision.p_wrong.tolist()
    assert file.flags["canary"].tolist() == ensemble.planted.tolist()
    kind = ensemble.canaries[0]
    assert file.flags[f"canary_{kind.kind}"].tolist() == kind.mask().tolist()
    assert file.flags["trusted"].tolist() == ensemble.data.trusted.tolist()
    assert file.texts["given"].tolist() == ensemble.data.written().tolist()
    assert ("suggested" in file.texts) == ("rival" in ensemble.dynamics.columns)
    assert file.note["seed"] == ensemble.settings.seed
    columns = kept_columns(decision)
    assert list(columns) == ["dris_kept", "dris_rank_variance"]
    assert columns["dris_kept"].tolist() == decision.mask.tolist()
    assert columns["dris_rank_variance"].tolist() == file.scores["rank_variance"].tolist()
    unscored = decide_by(ensemble, keep=None, rule="clean")  # the twin: its rule is no score
    assert list(kept_columns(unscored)) == ["dris_kept"]


def test_where_nothing_was_trained_there_is_nothing_to_score():
    few = decide(LabelledData.of(np.eye(3), [0, 1, 0], classes=("a", "b")))
    with pytest.raises(InputError, match="nothing to score: 3 examples"):
        score_file(few)
    assert list(kept_columns(few)) == ["dris_kept"]


def test_a_frame_has_a_row_for_each_example_and_suspects_with_their_suggestion(decision):
    pytest.importorskip("pandas")
    frame, suspects = decision.to_frame(), decision.suspects
    assert np.flatnonzero(frame["suspect"]).tolist() == sorted(suspects.positions.tolist())
    at = suspects.positions[0]
    first = next(iter(suspects))
    assert (frame["given"][at], frame["suggested"][at]) == (first.given, first.suggested)
    assert not replace(decision, suspects=None).to_frame()["suspect"].any()
    assert (decision.short, decision.to_dict()["unlabelled"]) == (0, 0)
