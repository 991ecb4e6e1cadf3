"""Dynamics: built from anything, the same to the last bit in whole and in summary."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import log_softmax, softmax
from sklearn.metrics import log_loss

import oracles
from dris.core.dynamics.dynamics import Dynamics, best_epoch
from dris.core.errors import InputError
from dris.core.scores.formulas import SCORES

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(3, 4, 6, 3)).astype(np.float32) * 3
LABELS = np.array([0, 1, 2, 2, 1, 0])


def whole(k=3, e=4, n=6, seed=0, ids=None, dtype=np.float32):
    """Dynamics with every column that any score asks for."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(k, e, n, 3)).astype(dtype)
    d = Dynamics.from_logits(z, np.arange(n) % 3, ids=ids)
    return Dynamics.from_arrays(
        **d.columns, gradient_norm=rng.random((k, e, n)).astype(dtype), labels=d.labels, ids=ids
    )


def test_logits_worked_by_hand():
    d = Dynamics.from_logits([[[0.0, 0.0], [np.log(3), 0.0]]], labels=[0, 1])
    assert d.loss[0, 0] == pytest.approx([np.log(2), np.log(4)])
    assert d.margin[0, 0] == pytest.approx([0, -np.log(3)])
    assert d.error_norm[0, 0] == pytest.approx([np.sqrt(0.5), 0.75 * np.sqrt(2)])
    assert d.correct[0, 0].tolist() == [True, False]


def test_the_loss_is_that_of_scipy_and_scikit_learn():
    d = Dynamics.from_logits(LOGITS, LABELS)
    z = LOGITS.astype(np.float64)
    expected = -np.take_along_axis(log_softmax(z, axis=-1), LABELS[None, None, :, None], -1)[..., 0]
    assert d.loss == pytest.approx(expected, rel=1e-6)
    for k in range(3):
        mean = log_loss(LABELS, softmax(z[k, -1], axis=-1), labels=[0, 1, 2])
        assert d.loss[k, -1].mean() == pytest.approx(mean, rel=1e-6)
    assert (d.correct == (LOGITS.argmax(-1) == LABELS)).all()


@settings(max_examples=50, deadline=None)
@given(hnp.arrays(np.float64, (2, 5, 4), elements=st.floats(-30, 30)), st.integers(0, 3))
def test_logits_agree_with_the_oracle(z, label):
    d = Dynamics.from_logits(z, [label] * 5)
    for k in range(2):
        for i in range(5):
            loss, margin, error = oracles.of_logits(z[k, i].tolist(), label)
            assert d.loss[k, 0, i] == pytest.approx(loss, rel=1e-9, abs=1e-14)
            assert d.margin[k, 0, i] == pytest.approx(margin, abs=1e-12)
            assert d.error_norm[k, 0, i] == pytest.approx(error, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_confident_examples_keep_their_digits(dtype):
    gaps = np.array([20, 30, 50, 80], dtype=dtype)
    z = np.stack([gaps, np.zeros(4, dtype)], axis=-1)
    d = Dynamics.from_logits(z[None], [0, 0, 0, 0])
    assert d.loss.dtype == dtype
    assert d.loss[0, 0] == pytest.approx(np.exp(-gaps.astype(float)), rel=1e-6, abs=0)
    assert d.error_norm[0, 0] == pytest.approx(np.sqrt(2) * np.exp(-gaps.astype(float)), rel=1e-6)
    textbook = -np.log(softmax(z.astype(np.float64), axis=-1)[:, 0])
    assert textbook[2] == 0  # the twin: written down plainly, the loss at gap 50 is lost


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_extreme_logits_stay_finite(dtype):
    z = np.array([[[1e4, -1e4, 0], [-1e4, 1e4, 0], [1e4, 1e4, -1e4], [-1e4, -1e4, -1e4]]], dtype)
    d = Dynamics.from_logits(z, [0, 0, 1, 2])
    assert d.loss[0, 0] == pytest.approx([0, 2e4, np.log(2), np.log(3)], rel=1e-3)
    assert d.margin[0, 0] == pytest.approx([1e4, -2e4, 0, 0], rel=1e-3)
    assert d.error_norm[0, 0] == pytest.approx(
        [0, np.sqrt(2), np.sqrt(0.5), np.sqrt(6) / 3], rel=1e-6
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_and_logits_tell_the_same_story(dtype):
    p = softmax(LOGITS.astype(dtype), axis=-1)
    a, b = Dynamics.from_probabilities(p, LABELS), Dynamics.from_logits(LOGITS, LABELS)
    for name in ("loss", "error_norm"):
        assert a.column(name) == pytest.approx(b.column(name), rel=1e-4, abs=1e-6)
    assert a.margin == pytest.approx(b.margin, rel=1e-3, abs=1e-5)
    assert (a.correct == b.correct).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_a_probability_of_zero_is_a_large_finite_loss(dtype):
    d = Dynamics.from_probabilities(np.array([[[1, 0], [0, 1]]], dtype), [1, 1])
    assert 80 < d.loss[0, 0, 0] < 800
    assert d.loss[0, 0, 1] == pytest.approx(0, abs=1e-30)


@pytest.mark.parametrize(
    "p", [[[[0.5, 0.6]]], [[[1.5, -0.5]]], [[[2.0, 3.0]]], [[[np.nan, 1.0]]], [[["a", "b"]]]]
)
def test_what_is_not_a_probability_is_refused(p):
    with pytest.raises(InputError, match="probabilities"):
        Dynamics.from_probabilities(p, [0])


def test_losses_alone_keep_their_precision_and_make_one_epoch():
    losses = np.array([[1 + 1e-12, 1.0], [2.0, 3.0]])
    d = Dynamics.from_losses(losses)
    assert d.loss.dtype == np.float64
    assert (d.proxies, d.examples, d.epochs, d.scored_epoch) == (2, 2, (1,), 1)
    assert d.ids.tolist() == [0, 1]
    assert np.array_equal(d.snapshot("loss"), losses)


@pytest.mark.parametrize(("e", "scored"), [(1, 1), (2, 1), (3, 2), (20, 10), (40, 20)])
def test_the_scored_epoch_is_half_way_unless_given(e, scored):
    assert Dynamics.from_arrays(loss=np.ones((1, e, 2))).scored_epoch == scored


def test_named_epochs_are_the_ones_asked_for():
    d = Dynamics.from_arrays(loss=np.arange(6.0).reshape(1, 3, 2), epochs=[5, 10, 20])
    assert d.scored_epoch == 10
    assert d.at(20).snapshot("loss").tolist() == [[4, 5]]
    assert d.at(20).loss is d.loss
    for missing in (3, 0, -1):
        with pytest.raises(InputError, match=f"epoch {missing} is not held"):
            d.at(missing)


SHAPE = (2, 3, 4)
GOOD = {"loss": np.ones(SHAPE)}


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"loss": np.ones(4)}, "proxy, epoch, example"),
        ({"loss": np.ones((1, 2, 3, 4))}, "proxy, epoch, example"),
        ({"loss": np.ones((2, 3, 0))}, "need a proxy, an epoch and an example"),
        ({"loss": [["a", "b"]]}, "loss must be numbers"),
        ({"loss": np.full(SHAPE, np.nan)}, "loss must be finite, got nan at proxy 0, epoch 0"),
        ({**GOOD, "margin": np.ones((2, 3, 5))}, "margin must have the shape of loss"),
        ({**GOOD, "margin": np.full(SHAPE, -np.inf)}, "margin must be finite"),
        ({**GOOD, "correct": np.ones(SHAPE)}, "correct must be booleans"),
        ({**GOOD, "labels": [0, 1]}, "4 examples, 2 labels"),
        ({**GOOD, "labels": [0.0, 1, 0, 1]}, "labels must be integers"),
        ({**GOOD, "labels": [0, 1, -1, 1]}, "labels must be 0 or more"),
        ({**GOOD, "ids": [1, 2, 3]}, "one per example"),
        ({**GOOD, "ids": [1, 2, 3, 2]}, "ids must be unique, 2 occurs"),
        ({**GOOD, "ids": [0.5, 1, 2, 3]}, "whole numbers or text"),
        ({**GOOD, "epochs": [1, 3, 2]}, "3 increasing numbers"),
        ({**GOOD, "epochs": [-1, 2, 3]}, "epochs must be at least 0"),
        ({**GOOD, "scored_epoch": 4}, "scored_epoch 4 was not recorded"),
    ],
)
def test_bad_arrays_are_refused_in_one_sentence(arrays, says):
    with pytest.raises(InputError, match=says) as caught:
        Dynamics.from_arrays(**arrays)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("z", "labels", "says"),
    [
        (np.zeros((2, 3)), [0, 1], "proxy, "),
        (np.zeros((1, 3, 1)), [0, 0, 0], "at least two classes"),
        (np.zeros((1, 3, 2)), [0, 1, 2], "labels must be below classes = 2"),
        (np.zeros((1, 0, 2)), [], "empty"),
        (np.full((1, 3, 2), np.nan), [0, 1, 1], "logits must be finite"),
        ([[["x", "y"]]], [0], "logits must be numbers"),
    ],
)
def test_bad_logits_are_refused_in_one_sentence(z, labels, says):
    with pytest.raises(InputError, match=says):
        Dynamics.from_logits(z, labels)


def test_totals_are_those_of_the_oracle():
    d = whole(e=9, n=20)
    margin, forgotten, learned = oracles.totals(d)
    assert d.totals().margin.tolist() == margin  # sequential float64 on both sides: to the bit
    assert d.totals().forgotten.tolist() == forgotten
    assert d.totals().learned.tolist() == learned
    assert d.totals().epochs == 9


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_summary_gives_the_same_scores_to_the_last_bit(name, dtype):
    for epoch in (1, 4, 7):
        d = whole(k=9, e=7, n=40, dtype=dtype).at(epoch)
        assert d.summary().loss.shape == (9, 1, 40)
        assert SCORES[name](d.summary()).tobytes() == SCORES[name](d).tobytes()


def test_a_summary_of_a_summary_is_itself_and_holds_one_epoch():
    d = whole().summary()
    assert d.summary() is d
    assert d.at(2).scored_epoch == 2
    with pytest.raises(InputError, match="epoch 3 is not held"):
        d.at(3)


def test_merge_matches_examples_by_id():
    order = np.array([3, 1, 5, 0, 2, 4])
    for names in (None, list("abcdef"), [10, 7, 8, 3, 5, 1]):
        d = whole(k=4, ids=names)
        back = shuffled(d.only([2, 3]), order)
        merged = Dynamics.merge([d.only([0, 1]), back])
        assert merged.ids.tolist() == d.ids.tolist()
        for name, column in d.columns.items():
            assert np.array_equal(merged.column(name), column)
        assert np.array_equal(merged.labels, d.labels)


def shuffled(d, order):
    cut = {n: c[..., order] for n, c in d.columns.items()}
    return Dynamics.from_arrays(**cut, labels=d.labels[order], ids=d.ids[order])


@pytest.mark.parametrize("name", SCORES)
def test_a_summary_of_a_merge_is_a_merge_of_summaries(name):
    d = whole(k=5)
    parts = [d.only([0, 1]), shuffled(d.only([2]), np.arange(6)[::-1]), d.only([3, 4])]
    a = Dynamics.merge(parts).summary()
    b = Dynamics.merge([p.summary() for p in parts])
    assert SCORES[name](a).tobytes() == SCORES[name](b).tobytes()
    assert SCORES[name](a).tobytes() == SCORES[name](d).tobytes()


def test_only_takes_proxies_in_the_order_asked_for():
    for d in (whole(), whole().summary()):
        picked = d.only([2, 0])
        assert np.array_equal(picked.loss, d.loss[[2, 0]])
        assert np.array_equal(picked.totals().margin, d.totals().margin[[2, 0]])
        for bad in ([], [3], [-1], [0, 5]):
            with pytest.raises(InputError, match="proxies must be among"):
                d.only(bad)


def test_each_proxy_keeps_its_own_provenance():
    silent = Dynamics.from_losses(np.eye(2))
    told = Dynamics.from_arrays(loss=np.ones((1, 2)), provenance={"proxies": [{"model": "b"}]})
    merged = Dynamics.merge([silent, told])
    assert merged.provenance["proxies"] == [{}, {}, {"model": "b"}]
    assert merged.only([2, 0]).provenance["proxies"] == [{"model": "b"}, {}]
    odd = Dynamics.from_arrays(loss=np.ones((1, 2)), provenance={"proxies": 3})
    assert Dynamics.merge([odd, told]).provenance["proxies"] == [{}, {"model": "b"}]


def losses(**more):
    return Dynamics.from_arrays(loss=np.ones((1, 2, 3)), **more)


LABELLED = losses(labels=[0, 1, 0], margin=np.ones((1, 2, 3)))


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (losses(), Dynamics.from_arrays(loss=np.ones((1, 3, 3))), "recorded epochs"),
        (losses(), losses(scored_epoch=2), "scored epoch"),
        (losses(), losses().summary(), "recorded epochs|form"),
        (losses(), LABELLED, "columns"),
        (losses(), losses(ids=[0, 1, 3]), "example ids"),
        (losses(), losses(labels=[0, 1, 1]), "labels"),
        (LABELLED, replace(LABELLED, labels=np.array([0, 1, 1])), "labels"),
        (
            losses().summary(),
            Dynamics.from_arrays(loss=np.ones((1, 3, 3)), scored_epoch=1).summary(),
            "epochs summed 3",
        ),
    ],
)
def test_what_cannot_be_merged_is_refused_and_named(one, other, says):
    with pytest.raises(InputError, match=f"part 1 cannot be merged: its ({says})"):
        Dynamics.merge([one, other])
    with pytest.raises(InputError, match="at least one"):
        Dynamics.merge([])


def test_a_missing_column_is_named_with_its_remedy():
    bare = Dynamics.from_losses(np.eye(2))
    for name in ("margin", "correct", "error_norm", "gradient_norm", "rival"):
        with pytest.raises(InputError, match=f"this needs {name}, which .*{name}="):
            bare.column(name)
    with pytest.raises(InputError, match="known columns: loss"):
        bare.column("colour")


def with_folds(ids=("a", "b", "c"), proxies=2, seed=0, **how):
    rng = np.random.default_rng(seed)

    def side():
        return Dynamics.from_arrays(
            loss=rng.random((proxies, 4, 3)),
            margin=rng.normal(size=(proxies, 4, 3)),
            correct=rng.random((proxies, 4, 3)) < 0.5,
            ids=list(ids),
            labels=[0, 1, 2],
            **how,
        )

    return replace(side(), out_of_fold=side())


def test_out_of_fold_values_have_the_others_names_labels_and_scored_epoch():
    both = with_folds()
    named = replace(both.at(3), ids=np.array(["p", "q", "r"]), labels=np.array([2, 1, 0]))
    assert named.out_of_fold.ids.tolist() == ["p", "q", "r"]
    assert named.out_of_fold.labels.tolist() == [2, 1, 0]
    assert named.out_of_fold.scored_epoch == 3
    assert np.array_equal(named.require_out_of_fold().loss, both.out_of_fold.loss)
    assert "in fold and out of fold" in repr(named)
    assert "out of fold" not in repr(named.out_of_fold)


@pytest.mark.parametrize("summary", [False, True])
def test_reordering_choosing_summing_and_saving_reach_the_out_of_fold_values(summary, tmp_path):
    both = with_folds().summary() if summary else with_folds()
    away = both.out_of_fold
    for changed, alone in (
        (both.reorder([2, 0]), away.reorder([2, 0])),
        (both.only([1]), away.only([1])),
        (both.summary(), away.summary()),
        (Dynamics.load(both.save(tmp_path / "both")), away),
        (Dynamics.merge([both.only([1]), both.only([0])]), away.only([1, 0])),
    ):
        outside = changed.out_of_fold
        assert np.array_equal(outside.loss, alone.loss)
        assert np.array_equal(outside.ids, alone.ids)
        assert np.array_equal(outside.totals().margin, alone.totals().margin)
        assert not np.array_equal(outside.loss, changed.loss)


def test_parts_in_another_order_are_merged_out_of_fold_too():
    one, two = with_folds(), with_folds(ids=("c", "a", "b"), seed=1)
    two = replace(two, labels=np.array([2, 0, 1]))
    merged = Dynamics.merge([one, two])
    assert np.array_equal(merged.out_of_fold.loss[2:], two.out_of_fold.loss[:, :, [1, 2, 0]])
    with pytest.raises(InputError, match=r"part 1 .* folds \(values out of fold\)"):
        Dynamics.merge([one, replace(one, out_of_fold=None)])


def test_out_of_fold_values_of_another_shape_are_refused():
    both = with_folds()
    with pytest.raises(InputError, match="shaped like the others"):
        replace(both, out_of_fold=both.out_of_fold.only([0]))
    with pytest.raises(InputError, match="shaped like the others"):
        replace(both.summary(), out_of_fold=both.out_of_fold.at(1))


@pytest.mark.parametrize("broken", ["no folds", "summary"])
def test_the_best_epoch_needs_epochs_out_of_fold(broken):
    both = with_folds()
    assert best_epoch(both) == 1 + int(both.out_of_fold.loss.mean(axis=(0, 2)).argmin())
    wrong = replace(both, out_of_fold=None) if broken == "no folds" else both.summary()
    with pytest.raises(InputError, match="out of fold" if broken == "no folds" else "one epoch"):
        best_epoch(wrong)
    side = Dynamics.from_arrays(loss=[[[3.0, 1.0], [1.0, 1.0], [0.5, 1.5]]])
    assert best_epoch(replace(side, out_of_fold=side)) == 2  # of equally good ones the first
