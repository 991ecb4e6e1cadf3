"""Arrays are read as files are: what tells nothing or repeats the label is not learned from."""

import numpy as np
import pytest

import dris
from dris.data.findings import MAX_BYTES, drop_uninformative_columns
from dris.data.labelled import LabelledData

RNG = np.random.default_rng(0)
Y = np.arange(300) % 3
X = RNG.normal(size=(300, 4)) + 2 * np.eye(3)[Y] @ RNG.normal(size=(3, 4))


def data(x, y=Y):
    return LabelledData.of(x, y, classes=("a", "b", "c"))


def test_constants_and_copies_go_and_the_rest_stays_in_order():
    odd = np.column_stack((np.zeros(300), X[:, :2], X[:, 0], X[:, 2:], np.full(300, 7.0)))
    found = drop_uninformative_columns(data(odd))
    assert found.x.tolist() == data(X).x.tolist()
    assert found.features[0].width == 4
    assert (found.leaks, found.notes) == ((), ())


def test_what_tells_something_is_the_same_object():
    whole = data(X)
    assert drop_uninformative_columns(whole) is whole
    nothing = data(np.ones((300, 2)))
    assert drop_uninformative_columns(nothing) is nothing  # nothing would be left


def test_a_column_that_is_the_label_is_left_out_and_named():
    found = drop_uninformative_columns(data(np.column_stack((X, Y))))
    assert found.x.shape == (300, 4)
    assert [(leak.column, leak.left_out) for leak in found.leaks] == [("x[4]", True)]
    note = "column 'x[4]' repeats the given label, wrong ones included, and is left out"
    assert note in found.notes
    twin = drop_uninformative_columns(data(np.column_stack((X, RNG.permutation(Y)))))
    assert (twin.x.shape, twin.leaks) == ((300, 5), ())


def test_the_label_alone_is_learned_from_all_the_same_and_no_limit_is_given():
    found = drop_uninformative_columns(data(Y[:, None].astype(float)))
    assert found.x.shape == (300, 1)
    assert [leak.left_out for leak in found.leaks] == [False]


def test_images_and_large_tables_stay_as_they_are(monkeypatch):
    pictures = LabelledData.of(np.zeros((300, 1, 2, 2), np.uint8), Y, classes=("a", "b", "c"))
    assert drop_uninformative_columns(pictures) is pictures
    odd = data(np.column_stack((np.zeros(300), X)))
    assert drop_uninformative_columns(odd) is not odd
    monkeypatch.setattr("dris.data.findings.MAX_BYTES", odd.x.nbytes - 1)
    assert drop_uninformative_columns(odd) is odd
    assert MAX_BYTES > 1e8


@pytest.mark.parametrize("door", ["array", "frame", "estimator"])
def test_columns_that_tell_nothing_change_no_decision(door):
    pandas = pytest.importorskip("pandas")
    given = np.where(np.arange(300) < 30, (Y + 1) % 3, Y)
    plain = dris.clean(dris.read_data(X, given), check_harm=False, workers=1)
    odd = np.column_stack((np.zeros(300), X, X[:, 1]))
    if door == "array":
        kept = dris.clean(dris.read_data(odd, given), check_harm=False, workers=1).kept
    elif door == "frame":
        frame = pandas.DataFrame(odd, columns=[*"zabcde"])
        kept = dris.clean(dris.read_data(frame, given), check_harm=False, workers=1).kept
    else:
        kept = np.flatnonzero(dris.RobustSelector(n_jobs=1).fit(odd, given).kept_)
    assert 0 < 300 - plain.kept.size < 100
    assert kept.tolist() == plain.kept.tolist()
