"""Heads on frozen features, one table each: the proxies that `train_proxies` would train."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.learn.proxies import train_proxies
from dris.learn.recipe import PAPER_FOOD_PROBE, Recipe
from dris.learn.trainers.stacked.head import Head
from dris.learn.trainers.stacked.heads import train_heads

SHORT = Recipe(epochs=3, batch_size=16, learning_rate=0.1, weight_decay=1e-3)


def toy(n=100, width=6, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, width)).astype(np.float32)
    y = (x[:, :classes] + 0.5 * rng.normal(size=(n, classes))).argmax(axis=1)
    y[:classes] = range(classes)
    return x, y


def apart(x, y, *, heads=3, hidden=None, recipe=SHORT, **how):
    model = Head(hidden)
    return train_proxies(x, y, proxies=heads, model=model, recipe=recipe, workers=1, **how)


@pytest.mark.parametrize("hidden", [None, 5])
@pytest.mark.parametrize(
    "how",
    [{}, {"bag": 0.7}, {"cross_fit": 3}, {"gradient_norm": True}, {"standardize": False}],
    ids=lambda how: "".join(how) or "plain",
)
def test_heads_on_one_table_are_its_proxies(hidden, how):
    x, y = toy()
    together, alone = (
        train_heads(x, y, hidden=hidden, recipe=SHORT, **how),
        apart(x, y, hidden=hidden, **how),
    )
    assert all(np.array_equal(together.columns[n], alone.columns[n]) for n in alone.columns)
    assert (together.out_of_fold is None) == ("cross_fit" not in how)


@pytest.mark.parametrize("other", [{"seed": 1}, {"recipe": replace(SHORT, momentum=0.8)}])
def test_the_comparison_with_proxies_notices_another_training(other):
    x, y = toy()
    assert not np.array_equal(
        train_heads(x, y, **{"recipe": SHORT, **other}).loss, apart(x, y).loss
    )


def test_stopping_early_keeps_the_cosine_of_the_whole_recipe():
    x, y = toy()
    stopped = train_heads(x, y, recipe=replace(SHORT, stop_epoch=2, scored_epoch=1))
    whole = train_heads(x, y, recipe=SHORT)
    assert np.array_equal(stopped.loss, whole.loss[:, :2])
    assert stopped.scored_epoch == 1


# --- one table per head


def test_a_list_of_tables_gives_each_head_its_own_whatever_the_width():
    x, y = toy(width=8)
    tables = [x, x[:, :5], x[:, 2:]]
    got = train_heads(tables, y, recipe=SHORT)
    for k, table in enumerate(tables):
        assert np.array_equal(got.loss[k], apart(table, y).loss[k])


def test_more_heads_than_tables_are_dealt_out_in_turn_with_all_their_folds():
    x, y = toy(width=8)
    tables = [x, x[:, :5]]
    got = train_heads(tables, y, heads=5, recipe=SHORT, cross_fit=2)
    for k in range(5):
        alone = apart(tables[k % 2], y, heads=5, cross_fit=2)
        assert np.array_equal(got.loss[k], alone.loss[k])
        assert np.array_equal(got.out_of_fold.loss[k], alone.out_of_fold.loss[k])


def test_fewer_heads_than_tables_leave_the_last_tables_out():
    x, y = toy()
    assert train_heads([x, x + 1, x + 2], y, heads=2, recipe=SHORT).proxies == 2


# --- what comes back


def test_the_default_is_three_heads_by_the_papers_food_recipe():
    x, y = toy()
    got = train_heads(x, y)
    assert (got.proxies, len(got.epochs), got.scored_epoch) == (3, 6, 5)
    assert got.provenance["proxies"][2]["stream"] == ["proxy", 2]
    assert got.provenance["proxies"][0]["recipe"]["batch_size"] == PAPER_FOOD_PROBE.batch_size


def test_ids_and_progress_are_as_in_train_proxies():
    x, y = toy(n=30)
    seen = []
    names = [f"image {i}" for i in range(30)]
    got = train_heads(
        x, y, recipe=SHORT, ids=names, progress=lambda done, of: seen.append((done, of))
    )
    assert got.ids.tolist() == names
    assert seen[-1] == (9, 9)


def test_heads_on_digits_reach_the_accuracy_of_logistic_regression():
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    train, rest = order[:1200], order[1200:]
    recipe = Recipe(epochs=15, batch_size=32, learning_rate=0.05, weight_decay=1e-4)
    test = (x[rest], y[rest])
    for hidden, least in ((None, 0.94), (32, 0.94)):
        got = train_heads(x[train], y[train], hidden=hidden, recipe=recipe, test=test)
        accuracies = [made["test_accuracy"] for made in got.provenance["proxies"]]
        assert min(accuracies) > least
        assert got.correct[:, -1].mean() > 0.97


def test_a_held_out_accuracy_is_that_of_the_proxy_trained_apart():
    x, y = toy(n=160)
    tested = (x[100:], y[100:])
    got = train_heads(x[:100], y[:100], recipe=SHORT, test=tested)
    alone = apart(x[:100], y[:100], test=tested)
    for a, b in zip(got.provenance["proxies"], alone.provenance["proxies"], strict=True):
        assert a["test_accuracy"] == pytest.approx(b["test_accuracy"], abs=1 / 60)


def test_the_features_are_left_as_they_were_even_when_read_only():
    x, y = toy()
    kept = x.copy()
    x.setflags(write=False)
    train_heads(x, y, recipe=SHORT)
    assert np.array_equal(x, kept)


# --- what can go wrong


def test_a_head_that_diverges_is_named_and_the_others_go_on():
    x, y = toy()
    wild = np.where(np.arange(6) == 0, 1e30, 1.0).astype(np.float32) * x
    with pytest.warns(UserWarning, match=r"2 of 3 .* proxy 1 diverged at epoch 1: its weights"):
        got = train_heads([x, wild, x], y, recipe=SHORT, standardize=False)
    assert got.proxies == 2
    calm = train_heads([x, x, x], y, recipe=SHORT, standardize=False)
    assert np.array_equal(got.loss, calm.loss[[0, 2]])


def test_when_no_head_finishes_the_error_says_which_and_where():
    x, y = toy()
    wild = replace(SHORT, learning_rate=1e30)
    with pytest.raises(InputError, match=r"no proxy finished; proxy 0 diverged at epoch 1"):
        train_heads(x, y, recipe=wild)


def test_heads_that_all_end_in_the_same_place_are_refused_as_copies():
    x, y = toy(n=40)
    same = Recipe(epochs=400, batch_size=40, learning_rate=0.1, weight_decay=1.0, scored_epoch=400)
    with pytest.raises(InputError, match=r"copies: Head\(hidden=None\)"):
        train_heads(x, y, recipe=same)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": np.zeros((4, 1, 2, 2))}, "features must be .examples, features"),
        ({"features": [np.zeros((4, 2)), np.zeros((3, 2))]}, "same examples, got 4 and 3 rows"),
        ({"features": []}, "x must be"),
        ({"features": [[0.0, np.nan]] * 4}, "finite"),
        ({"labels": [0, 1]}, "labels"),
        ({"labels": [0, 1, 0, 5], "classes": 2}, "5"),
        ({"heads": 0}, "heads must be"),
        ({"hidden": 0}, "hidden must be"),
        ({"bag": 1.5}, "bag"),
        ({"bag": 0.5, "cross_fit": 2}, "cannot be combined"),
        ({"cross_fit": 9}, "cross_fit must be"),
        ({"ids": ["a", "a", "b", "c"]}, "ids"),
        ({"device": "tpu"}, "device must be"),
        ({"seed": -1}, "seed"),
        ({"test": ([[1.0, 2.0, 3.0]], [0])}, r"widths \[2\], one per table, got \[3\]"),
        ({"test": ([[1.0, 2.0]], [0, 1])}, "labels"),
    ],
    ids=lambda v: next(iter(v)) if isinstance(v, dict) else "",
)
def test_bad_inputs_are_refused_with_a_sentence(change, message):
    good = {"features": np.eye(4, 2), "labels": [0, 1, 0, 1], "recipe": SHORT}
    given = {**good, **change}
    with pytest.raises(InputError, match=message):
        train_heads(given.pop("features"), given.pop("labels"), **given)


# --- the store


def test_each_table_has_a_run_of_its_own_and_ids_are_not_part_of_it(tmp_path):
    x, y = toy()
    first = train_heads([x, x + 1], y, heads=3, recipe=SHORT, store=tmp_path)
    assert len(list(tmp_path.glob("*/done.json"))) == 2
    seen = []
    again = train_heads(
        [x, x + 1],
        y,
        heads=3,
        recipe=SHORT,
        store=tmp_path,
        ids=range(100, 200),
        progress=lambda *p: seen.append(p),
    )
    assert np.array_equal(first.loss, again.loss)
    assert again.ids[0] == 100
    assert seen[-1] == (9, 9)
    assert len(list(tmp_path.glob("*/done.json"))) == 2


def test_an_ensemble_with_a_missing_head_is_not_kept(tmp_path):
    x, y = toy()
    wild = np.where(np.arange(6) == 0, 1e30, 1.0).astype(np.float32) * x
    for _ in range(2):  # the second time the warning must come again
        with pytest.warns(UserWarning, match="proxy 1 diverged"):
            train_heads([x, wild, x], y, recipe=SHORT, standardize=False, store=tmp_path)


def test_no_warning_comes_from_an_ordinary_training():
    x, y = toy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train_heads(x, y, recipe=SHORT, hidden=4, bag=0.8)


def test_labels_with_another_index_than_the_features_are_refused():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    rows = pandas.DataFrame(np.eye(4))
    with pytest.raises(InputError, match="same index"):
        train_heads(rows, pandas.Series([0, 1, 0, 1], index=[3, 2, 1, 0]), heads=2)
