"""What a decision says of every example, as columns."""

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.data.labelled import LabelledData
from dris.pipeline.route import decide, decide_by
from dris.pipeline.score_columns import kept_columns, score_file
from made_ensemble import made_ensemble


def test_a_score_file_holds_every_score_the_suspicion_marks_and_labels():
    scored, _ = made_ensemble(n=300)
    decision = decide_by(scored, keep=0.25, rule="rank_variance")
    file = score_file(decision)
    assert set(file.scores) == {*scored.scores(), "suspicion"}
    assert file.scores["suspicion"].tolist() == decision.suspicion.tolist()
    assert file.flags["canary"].tolist() == scored.planted.tolist()
    kind = scored.canaries[0]
    assert file.flags[f"canary_{kind.kind}"].tolist() == kind.mask().tolist()
    assert file.flags["trusted"].tolist() == scored.data.trusted.tolist()
    assert file.texts["given"].tolist() == scored.data.written().tolist()
    assert ("suggested" in file.texts) == ("rival" in scored.dynamics.columns)
    assert file.note["seed"] == scored.settings.seed
    columns = kept_columns(decision)
    assert list(columns) == ["dris_kept", "dris_rank_variance"]
    assert columns["dris_kept"].tolist() == decision.mask.tolist()
    assert columns["dris_rank_variance"].tolist() == file.scores["rank_variance"].tolist()


def test_a_rule_that_is_no_score_marks_what_is_kept_and_no_more():
    scored, _ = made_ensemble(n=300)
    assert list(kept_columns(decide_by(scored, keep=None, rule="clean"))) == ["dris_kept"]


def test_where_nothing_was_trained_there_is_nothing_to_score():
    few = decide(LabelledData.of(np.eye(3), [0, 1, 0], classes=("a", "b")))
    with pytest.raises(InputError, match="nothing to score: 3 examples"):
        score_file(few)
    assert list(kept_columns(few)) == ["dris_kept"]
