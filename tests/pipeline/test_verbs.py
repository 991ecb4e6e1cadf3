"""The public verbs: the same decision from whatever the data is in, and what they refuse."""

import numpy as np
import pytest

import dris
from dris.core.errors import InputError
from dris.pipeline.harm import Change, Harm

HOW = {"settings": dris.Settings(epochs=4), "workers": 1, "check_harm": False}


@pytest.fixture(scope="module")
def arrays():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    x = (rng.normal(size=(400, 3)) + 3 * y[:, None]).astype(np.float32)
    return x, np.where(np.arange(400) < 40, 1 - y, y)


def test_a_path_a_frame_arrays_and_what_was_read_give_the_same_decision(arrays, tmp_path):
    pandas = pytest.importorskip("pandas")
    x, y = arrays
    frame = pandas.DataFrame(x.astype(float), columns=["a", "b", "c"]).assign(kind=y)
    frame.to_csv(tmp_path / "data.csv", index=False)
    read = dris.clean(dris.read_data(x, y), **HOW).kept.tolist()
    assert 300 < len(read) < 400
    assert dris.clean(x, y, **HOW).kept.tolist() == read
    assert dris.clean(frame, label="kind", **HOW).kept.tolist() == read
    assert dris.clean(tmp_path / "data.csv", label="kind", **HOW).kept.tolist() == read


def test_weights_are_those_of_p_wrong_unless_a_score_is_named(arrays):
    decision = dris.weights(*arrays, **HOW)
    weighting = decision.weighting
    assert weighting.score == "p_wrong"
    assert (weighting.weights == decision.sample_weight).all()
    assert (weighting.probabilities == 1 / 400).all()  # canaries' own labels count as any other
    assert 1 < weighting.effective_size <= 400
    assert f"all 400 by P(wrong), {(weighting.weights < 0.5).sum()} of them" in str(decision)
    assert "all 400" not in str(dris.weights(*arrays, score="loss", **HOW))
    for more in ({"smoothing": 0.3}, {"exponent": 0.5}):
        with pytest.raises(InputError, match="rank_variance"):
            dris.weights("no such file.csv", **more)


def test_what_weighting_changes_is_said_and_dropping_stands_beside(arrays, monkeypatch):
    measured = Harm(
        *(Change(-1.0, 1.0), {"weights": Change(2.0, 0.5)}, {"0": -3.0, "1": 1.0}, 400, 0.9),
        other_classes={"weights": {"0": 1.5, "1": 2.5}},
    )
    monkeypatch.setattr("dris.pipeline.route.measure_harm", lambda *args, **how: measured)
    harm = dris.weights(*arrays, **{**HOW, "check_harm": True}).harm
    assert (harm.change.points, harm.worst) == (2.0, ("0", 1.5))
    assert {name: change.points for name, change in harm.others.items()} == {"drop": -1.0}


def test_weights_by_a_score_leave_canaries_out(arrays):
    decision = dris.weights(*arrays, score="loss", smoothing=0.3, **HOW)
    assert decision.kept.tolist() == dris.clean(*arrays, **HOW).kept.tolist()
    weighting = decision.weighting
    assert weighting.score == "loss"
    assert (weighting.probabilities > 0).tolist() == (~decision.ensemble.planted).tolist()
    assert weighting.probabilities.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"label": "kind"}, InputError, "read already; pass label"),
        ({"y": [0, 1]}, InputError, "read already; pass y"),
        ({"lable": "kind"}, TypeError, "dris.clean has no parameter lable"),
        ({"keep": 0.5}, TypeError, "no parameter keep"),
    ],
)
def test_a_keyword_that_would_be_ignored_is_refused(arrays, change, error, words):
    with pytest.raises(error, match=words):
        dris.clean(dris.read_data(*arrays), **HOW, **change)
