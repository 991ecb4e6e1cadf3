"""Classes in an order, as grades have: errors go to the next ones, through every door."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import dris
from commands import run_dris

GRADES = ["low", "middle", "good", "top"]
HOW = {"check_harm": False, "workers": 1}


def made(n=1200, seed=0):
    """Grades that one number tells, a quarter of them one too high or low; which are wrong."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=n)
    x = rng.normal(size=(n, 4))
    x[:, 0] += 2.2 * truth
    beside = 3 - abs(3 - abs(truth + rng.choice([-1, 1], n)))  # the ends have one neighbour
    given = np.where(rng.random(n) < 0.25, beside, truth)
    return x, np.array(GRADES)[given], given != truth


def as_categorical(y, ordered=True):
    return pd.Series(pd.Categorical(y, categories=GRADES, ordered=ordered))


def frame_of(x, y):
    return pd.DataFrame(x).add_prefix("x").assign(label=y)


def test_who_knows_the_order_knows_better_how_likely_a_label_is_wrong():
    x, y, wrong = made()
    plain, known = dris.clean(x, y, **HOW), dris.clean(x, y, ordinal=GRADES, **HOW)
    off = [((decision.p_wrong - wrong) ** 2).mean() for decision in (plain, known)]
    assert off[1] < 0.9 * off[0]
    steps = [abs(GRADES.index(s.given) - GRADES.index(s.suggested)) for s in known.suspects]
    assert np.mean(np.array(steps) == 1) > 0.95
    assert "good is 1 class higher" in " ".join(s.why for s in known.suspects)
    assert "class higher" not in " ".join(s.why for s in plain.suspects)


DOORS = {
    "frame": lambda x, y: dris.read_data(frame_of(x, y)),
    "series": lambda x, y: dris.read_data(x, y),
    "categorical": lambda x, y: dris.read_data(x, y.array),
    "frame and series": lambda x, y: dris.read_data(pd.DataFrame(x), y),
}


@pytest.mark.parametrize("door", DOORS)
def test_an_ordered_categorical_of_pandas_brings_its_order(door):
    x, y, _ = made(200)
    data = DOORS[door](x, as_categorical(y))
    assert [GRADES[place] for place in data.rank] == list(data.classes)
    assert "the classes have an order: low, middle, good, top" in data.notes
    twin = DOORS[door](x, as_categorical(y, ordered=False))
    assert twin.rank is None
    assert twin.labels.tolist() == data.labels.tolist()


def test_an_order_that_is_named_comes_first_and_categories_without_rows_are_none():
    x, y, _ = made(200)
    frame = frame_of(x, as_categorical(np.where(y == "top", "good", y)))
    assert dris.read_data(frame).rank.tolist() == [2, 0, 1]
    data = dris.read_data(frame, ordinal=["good", "middle", "low"])
    assert data.rank.tolist() == [0, 2, 1]
    assert not [note for note in data.notes if "order" in note]


def test_intervals_as_labels_are_refused_as_before():
    with pytest.raises(dris.InputError):
        dris.read_data(np.eye(40), pd.cut(np.arange(40), 4))


def test_a_parquet_file_brings_the_order_to_the_command(tmp_path):
    x, y, _ = made()
    for name, ordered in (("a", True), ("b", False)):
        frame_of(x, as_categorical(y, ordered)).to_parquet(tmp_path / f"{name}.parquet")
        words = ("--workers", "1", "--skip-harm-check", "--no-report", "--out", name)
        done = run_dris("clean", f"{name}.parquet", *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    told = [(tmp_path / name / "issues.csv").read_text("utf-8") for name in "ab"]
    assert ["class higher" in text for text in told] == [True, False]


def test_scikit_learn_decides_the_same():
    x, y, _ = made()
    known = dris.clean(x, y, ordinal=GRADES, **HOW)
    own = as_categorical(y)
    weights = np.ones(len(y))
    weights[y == "top"] = 0
    for how in ({}, {"ordinal": GRADES}):
        fitted = dris.RobustClassifier(LogisticRegression(), n_jobs=1, **how)
        fitted.fit(x, own if not how else y)
        assert fitted.decision_.p_wrong.tolist() == known.p_wrong.tolist()
    fitted = dris.RobustClassifier(LogisticRegression(), n_jobs=1).fit(x, own, weights)
    assert fitted.decision_.data.rank.tolist() == [2, 0, 1]
    fitted = dris.RobustClassifier(LogisticRegression(), n_jobs=1).fit(x, as_categorical(y, False))
    assert fitted.decision_.data.rank is None
