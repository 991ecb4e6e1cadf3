"""Heads trained together: the same training as apart, whoever else is in the stack."""

import logging
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from dris.core.errors import InputError  # noqa: E402
from dris.core.streams import seed_for  # noqa: E402
from dris.learn.networks.models import build_model  # noqa: E402
from dris.learn.networks.models.dense import mlp  # noqa: E402
from dris.learn.proxies import train_proxies  # noqa: E402
from dris.learn.proxy_job import Job  # noqa: E402
from dris.learn.recipe import PAPER_FOOD_PROBE, Recipe  # noqa: E402
from dris.learn.stacked import heads as module  # noqa: E402
from dris.learn.stacked.heads import grouped, train_heads  # noqa: E402
from dris.learn.stacked.torch_stack import StackedHeads  # noqa: E402
from dris.learn.store.run_store import Store  # noqa: E402
from oracles_heads import trained_head  # noqa: E402

SHORT = Recipe(epochs=3, batch_size=16, learning_rate=0.1, weight_decay=1e-3)
TOLERANCE = 1e-4


def toy(n=100, width=6, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, width)).astype(np.float32)
    y = (x[:, :classes] + 0.5 * rng.normal(size=(n, classes))).argmax(axis=1)
    y[:classes] = range(classes)
    return x, y


def apart(x, y, *, heads=3, hidden=None, recipe=SHORT, **how):
    model = "linear" if hidden is None else partial(mlp, hidden=(hidden,))
    return train_proxies(x, y, proxies=heads, model=model, recipe=recipe, workers=1, **how)


def differ(a, b):
    """The largest difference in any column; labels and scored epoch must be the same."""
    assert np.array_equal(a.labels, b.labels)
    assert a.scored_epoch == b.scored_epoch
    assert sorted(a.columns) == sorted(b.columns)
    clear = np.abs(a.margin) > TOLERANCE  # rounding may decide the others
    if not np.array_equal(a.correct[clear], b.correct[clear]):
        return 1.0
    real = [n for n in a.columns if n != "correct"]
    return max(np.abs(a.columns[n] - b.columns[n]).max() for n in real)


# --- worked out elsewhere


def test_one_step_from_known_weights_is_the_step_worked_out_by_hand():
    # Both rows in one batch; p(own class) before the step gives the gradient, rate 0.5, no decay.
    table, y = torch.tensor([[1.0], [-1.0]]), np.array([0, 1])
    recipe = Recipe(epochs=1, batch_size=2, learning_rate=0.5, weight_decay=0.0)
    rows = [np.arange(2)]
    stack = StackedHeads(
        table, y, 2, recipe, hidden=None, seed=0, streams=[("proxy", 0)], rows=rows
    )
    (w0, w1), (b0, b1) = (t.flatten().tolist() for t in stack._layers[0])
    up, down = (1 / (1 + np.exp(-s)) for s in (w0 - w1 + b0 - b1, w0 - w1 - b0 + b1))
    slope_w = ((up - 1) + (down - 1)) / 2  # of w0; of w1 it is the opposite
    slope_b = ((up - 1) - (down - 1)) / 2
    stack.train_epoch(1)
    weight, bias = (t.flatten().tolist() for t in stack._layers[0])
    assert weight == pytest.approx([w0 - 0.5 * slope_w, w1 + 0.5 * slope_w], abs=1e-6)
    assert bias == pytest.approx([b0 - 0.5 * slope_b, b1 + 0.5 * slope_b], abs=1e-6)


@pytest.mark.parametrize("wrong", [{}, {"weight_decay": 0.1}, {"momentum": 0.5}])
def test_heads_follow_the_loop_oracle_and_the_oracle_notices_another_recipe(wrong):
    x, y = toy(n=40)
    got = train_heads(x, y, heads=2, recipe=SHORT, standardize=False).loss
    for k in range(2):
        stream = ("proxy", k)
        model = build_model("linear", (6,), 3, seed=seed_for(0, *stream, "model"))
        start = (t.detach().numpy() for t in (model.head.weight, model.head.bias))
        loss, _, _ = trained_head(x, y, *start, replace(SHORT, **wrong), seed=0, stream=stream)
        assert (np.abs(got[k] - loss).max() < TOLERANCE) == (not wrong)


# --- the same as apart


@pytest.mark.parametrize("hidden", [None, 5])
@pytest.mark.parametrize(
    "how",
    [{}, {"bag": 0.7}, {"cross_fit": 3}, {"gradient_norm": True}, {"standardize": False}],
    ids=lambda how: "".join(how) or "plain",
)
def test_heads_together_are_the_proxies_trained_apart(hidden, how):
    x, y = toy()
    together = train_heads(x, y, hidden=hidden, recipe=SHORT, **how)
    assert differ(together, apart(x, y, hidden=hidden, **how)) < TOLERANCE


@pytest.mark.parametrize("other", [{"seed": 1}, {"recipe": replace(SHORT, momentum=0.8)}])
def test_the_comparison_with_proxies_apart_notices_another_training(other):
    x, y = toy()
    assert differ(train_heads(x, y, **{"recipe": SHORT, **other}), apart(x, y)) > 10 * TOLERANCE


def test_stopping_early_keeps_the_cosine_of_the_whole_recipe():
    x, y = toy()
    stopped = train_heads(x, y, recipe=replace(SHORT, stop_epoch=2, scored_epoch=1))
    whole = train_heads(x, y, recipe=SHORT)
    assert np.array_equal(stopped.loss, whole.loss[:, :2])
    assert stopped.scored_epoch == 1


def stack_of(streams, hidden=None):
    x, y = toy()
    return StackedHeads(
        torch.from_numpy(x),
        y,
        3,
        SHORT,
        hidden=hidden,
        seed=0,
        streams=[("proxy", k) for k in streams],
        rows=[np.arange(len(x))] * len(streams),
    )


def answers(streams, hidden):
    stack = stack_of(streams, hidden)
    for epoch in (1, 2, 3):
        assert stack.train_epoch(epoch) == {}
    logits, _ = stack.measure(np.arange(100), range(len(streams)))
    return dict(zip(streams, logits, strict=True))


@pytest.mark.parametrize("hidden", [None, 5])
@pytest.mark.parametrize("others", [[2, 1, 0], [2], [0, 2], [7, 2, 9, 0, 3]])
def test_a_head_does_not_depend_on_order_or_presence_of_others(others, hidden):
    all_three, some = answers([0, 1, 2], hidden), answers(others, hidden)
    for k in set(others) & {0, 1, 2}:
        assert np.abs(all_three[k] - some[k]).max() < TOLERANCE
    assert np.abs(all_three[0] - all_three[2]).max() > 100 * TOLERANCE


def test_groups_of_heads_give_what_one_group_gives(monkeypatch):
    x, y = toy()
    whole = train_heads(x, y, heads=5, recipe=SHORT)
    monkeypatch.setattr(module, "_AT_ONCE", 2 * 16 * 6)
    assert differ(train_heads(x, y, heads=5, recipe=SHORT), whole) < TOLERANCE


def test_groups_have_equal_rows_and_bounded_batches():
    base = Job("linear", ("proxy", 0), 0, 3, SHORT, folds=3)
    jobs = [replace(base, stream=("proxy", k), fold=f) for k in range(2) for f in range(3)]
    # Folds of 10 are 4, 3, 3: training rows 6, 7, 7.
    assert grouped(jobs, 10, 6) == [[0, 3], [1, 2, 4, 5]]
    assert grouped(jobs[:1] * 3, 10, 10**9) == [[0], [1], [2]]


# --- one table per head


def test_a_list_of_tables_gives_each_head_its_own_whatever_the_width():
    x, y = toy(width=8)
    tables = [x, x[:, :5], x[:, 2:]]
    got = train_heads(tables, y, recipe=SHORT)
    for k, table in enumerate(tables):
        assert np.abs(got.loss[k] - apart(table, y).loss[k]).max() < TOLERANCE


def test_more_heads_than_tables_are_dealt_out_in_turn_with_all_their_folds():
    x, y = toy(width=8)
    tables = [x, x[:, :5]]
    got = train_heads(tables, y, heads=5, recipe=SHORT, cross_fit=2)
    for k in range(5):
        alone = apart(tables[k % 2], y, heads=5, cross_fit=2)
        assert np.abs(got.loss[k] - alone.loss[k]).max() < TOLERANCE


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


def test_the_bytes_do_not_depend_on_threads_or_on_global_random_state():
    x, y = toy()
    first = train_heads(x, y, recipe=SHORT)
    torch.set_num_threads(2)
    torch.manual_seed(5)
    before = torch.get_rng_state()
    again = train_heads(x, y, recipe=SHORT)
    assert torch.get_num_threads() == 2
    assert torch.equal(torch.get_rng_state(), before)
    assert all(np.array_equal(first.columns[n], again.columns[n]) for n in first.columns)


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
    with pytest.warns(UserWarning, match=r"2 of 3 .* proxy 1 diverged in epoch 1: the loss is"):
        got = train_heads([x, wild, x], y, recipe=SHORT, standardize=False)
    assert got.proxies == 2
    calm = train_heads([x, x, x], y, recipe=SHORT, standardize=False)
    assert np.array_equal(got.loss, calm.loss[[0, 2]])


def test_one_wild_head_of_a_stack_leaves_its_neighbours_alone():
    calm, hit = stack_of([0, 1, 2]), stack_of([0, 1, 2])
    hit._layers[0][0][1] = float("nan")
    broken = [s.train_epoch(1) for s in (calm, hit)]
    assert broken[0] == {}
    assert list(broken[1]) == [1]
    assert "at step 1 of epoch 1" in broken[1][1]
    at = np.arange(100)
    assert np.array_equal(calm.measure(at, [0, 2])[0], hit.measure(at, [0, 2])[0])


def test_when_no_head_finishes_the_error_says_which_and_where():
    x, y = toy()
    wild = replace(SHORT, learning_rate=1e30)
    with pytest.raises(InputError, match=r"no proxy finished; proxy 0 diverged in epoch 1"):
        train_heads(x, y, recipe=wild)


def test_heads_that_all_end_in_the_same_place_are_refused_as_copies():
    x, y = toy(n=40)
    same = Recipe(epochs=200, batch_size=40, learning_rate=0.1, weight_decay=1.0, scored_epoch=200)
    with pytest.raises(InputError, match="copies: linear"):
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


def refuse_to_train(*_):
    raise AssertionError("trained although the result was kept")


def test_a_second_call_takes_the_result_from_the_store(tmp_path, monkeypatch):
    x, y = toy()
    first = train_heads(x, y, recipe=SHORT, store=tmp_path)
    monkeypatch.setattr(module, "_train_on", refuse_to_train)
    seen = []
    again = train_heads(
        x.copy(), y, recipe=SHORT, store=Store(tmp_path), progress=lambda *p: seen.append(p)
    )
    assert all(np.array_equal(first.columns[n], again.columns[n]) for n in first.columns)
    assert seen == [(9, 9)]
    assert train_heads(x, y, recipe=SHORT, store=tmp_path, ids=range(100, 200)).ids[0] == 100


@pytest.mark.parametrize(
    "change",
    [
        {"heads": 2},
        {"hidden": 4},
        {"seed": 1},
        {"bag": 0.9},
        {"recipe": replace(SHORT, momentum=0.8)},
        {"standardize": False},
        {"gradient_norm": True},
        {"classes": 4},
        {"test": (np.zeros((1, 6)), [0])},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_the_result_changes_the_key(tmp_path, monkeypatch, change):
    x, y = toy(n=40)
    train_heads(x, y, recipe=SHORT, store=tmp_path)
    monkeypatch.setattr(module, "_train_on", refuse_to_train)
    with pytest.raises(AssertionError, match="trained although"):
        train_heads(x, y, **{"recipe": SHORT, **change}, store=tmp_path)


def test_a_damaged_result_is_trained_again(tmp_path, caplog):
    x, y = toy()
    first = train_heads(x, y, recipe=SHORT, store=tmp_path)
    (kept,) = tmp_path.glob("*/dynamics.safetensors")
    raw = bytearray(kept.read_bytes())
    raw[-3] ^= 1
    kept.write_bytes(raw)
    with caplog.at_level(logging.WARNING, logger="dris"):
        again = train_heads(x, y, recipe=SHORT, store=tmp_path)
    assert "set aside" in caplog.text
    assert np.array_equal(first.loss, again.loss)


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
