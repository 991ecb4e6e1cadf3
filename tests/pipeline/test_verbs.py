"""The public verbs: the same decision from whatever the data is in, and what they refuse."""

import numpy as np
import pytest

import dris
from dris.core.errors import InputError

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


def test_weights_weigh_all_but_canaries_and_drop_nothing_more_than_clean(arrays):
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


def test_an_unknown_score_is_refused_before_anything_is_read():
    with pytest.raises(InputError, match="weights need a score"):
        dris.weights("no such file.csv", score="gated")
