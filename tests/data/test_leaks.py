"""Arrays are read as files are: what tells nothing or repeats the label is not learned from."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

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


def test_a_column_that_is_the_label_is_left_out_and_named():
    found = drop_uninformative_columns(data(np.column_stack((X, Y))))
    assert found.x.shape == (300, 4)
    assert [(leak.column, leak.left_out) for leak in found.leaks] == [("x[4]", True)]
    note = "column 'x[4]' repeats the given label, wrong ones included, and is left out"
    assert note in found.notes
    twin = drop_uninformative_columns(data(np.column_stack((X, RNG.permutation(Y)))))
    assert (twin.x.shape, twin.leaks) == ((300, 5), ())


def made_noisy(n=4000, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    truth = (x[:, 0] + x[:, 1] > 0).astype(int)
    return x, np.where(rng.random(n) < 0.16, 1 - truth, truth), rng


def xor(x, given, rng):
    one, two = rng.integers(0, 2, (2, len(x)))
    return np.column_stack([x, one, two, one ^ two ^ given]), given, [5, 6, 7]


def signs(x, given, rng):
    one, size = rng.normal(size=(2, len(x)))
    two = np.abs(size) * np.where((one > 0) ^ (given > 0), 1, -1)
    return np.column_stack([x, one, two]), given, [5, 6]


def clock(x, given, rng):
    order = np.argsort(given, kind="stable")
    return np.column_stack([x[order], 60.0 * np.arange(len(x))]), given[order], [5]


def frame_of(x, y):
    names = [f"c{i}" for i in range(x.shape[1])]
    return pd.DataFrame(x, columns=names).assign(label=y)


def csv_of(x, y, folder):
    frame_of(x, y).to_csv(folder / "a.csv", index=False)
    return dris.read_data(folder / "a.csv")


def npz_of(x, y, folder):
    np.savez(folder / "a.npz", **{str(name): c.to_numpy() for name, c in frame_of(x, y).items()})
    return dris.read_data(folder / "a.npz")


DOORS = {
    "array": lambda x, y, _: dris.read_data(x, y),
    "frame": lambda x, y, _: dris.read_data(frame_of(x, y)),
    "csv": csv_of,
    "npz": npz_of,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("leak", [xor, signs, clock])
def test_columns_that_tell_the_given_label_are_named_through_every_door(door, leak, tmp_path):
    x, y, at = leak(*made_noisy())
    found = drop_uninformative_columns(DOORS[door](x, y, tmp_path))
    named = [f"x[{i}]" if door == "array" else f"c{i}" for i in at]
    assert [one.column for one in found.leaks] == [" and ".join(named)]
    assert not found.leaks[0].left_out
    x[:, at[-1]] = np.random.default_rng(2).permutation(x[:, at[-1]])
    assert drop_uninformative_columns(DOORS[door](x, y, tmp_path)).leaks == ()


def test_where_the_label_can_be_read_off_columns_no_noise_rate_and_no_limit_is_given():
    x, given, at = xor(*made_noisy(800))
    decision = dris.clean(dris.read_data(x, given), check_harm=False, workers=1)
    assert (decision.noise_rate, decision.limits) == (None, ())
    twin = dris.clean(dris.read_data(np.delete(x, at[-1], 1), given), check_harm=False, workers=1)
    assert twin.noise_rate is not None


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_a_label_that_is_really_learned_is_no_leak(load):
    x, y = load(return_X_y=True)
    assert drop_uninformative_columns(dris.read_data(x, y)).leaks == ()


def test_a_rule_of_two_columns_beside_others_that_tell_nothing_is_no_leak():
    x = np.random.default_rng(0).normal(size=(4000, 6))
    y = ((x[:, 0] > 0) ^ (x[:, 1] > 0)).astype(int)
    assert drop_uninformative_columns(dris.read_data(x, y)).leaks == ()


def test_images_and_large_tables_stay_as_they_are(monkeypatch):
    pictures = LabelledData.of(np.zeros((300, 1, 2, 2), np.uint8), Y, classes=("a", "b", "c"))
    assert drop_uninformative_columns(pictures) is pictures
    odd = data(np.column_stack((np.zeros(300), X)))
    assert drop_uninformative_columns(odd) is not odd
    monkeypatch.setattr("dris.data.findings.MAX_BYTES", odd.x.nbytes - 1)
    assert drop_uninformative_columns(odd) is odd
    assert MAX_BYTES > 1e8


@pytest.mark.parametrize("door", ["array", "frame", "estimator"])
@pytest.mark.usefixtures("harm_not_measured")
def test_columns_that_tell_nothing_change_no_decision(door):
    given = np.where(np.arange(300) < 30, (Y + 1) % 3, Y)
    plain = dris.clean(dris.read_data(X, given), check_harm=False, workers=1)
    odd = np.column_stack((np.zeros(300), X, X[:, 1]))
    if door == "array":
        kept = dris.clean(dris.read_data(odd, given), check_harm=False, workers=1).kept
    elif door == "frame":
        frame = pd.DataFrame(odd, columns=[*"zabcde"])
        kept = dris.clean(dris.read_data(frame, given), check_harm=False, workers=1).kept
    else:
        kept = np.flatnonzero(dris.RobustSelector(n_jobs=1).fit(odd, given).kept_)
    assert 0 < 300 - plain.kept.size < 100
    assert kept.tolist() == plain.kept.tolist()
