"""One contract for every score, and proof that the contract rejects broken ones."""

from dataclasses import replace

import numpy as np
import pytest

import oracles
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.scores import formulas as scores
from dris.core.scores.formulas import EXTRA_COLUMNS, SCORES

NEEDS = {
    **EXTRA_COLUMNS,
    "el2n": "error_norm",
    "aum": "margin",
    "aum_mean": "margin",
    "forgetting": "correct",
    "forgetting_unlearned": "correct",
}
NEEDS_LABELS = {"confident_learning"}
ONE_PROXY = {"aum"}  # reads the first proxy only, as in the paper


def toy(k=3, e=5, n=30, seed=0, ids=None, dtype=np.float32):
    """Random dynamics with every column, ties and never-learned examples included."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(k, e, n, 3)).round(1).astype(dtype)
    labels = rng.permutation(np.arange(n) % 3)
    z[:, :, 1] = z[:, :, 0]
    labels[1] = labels[0]  # a tie in every proxy
    z[..., 2, :] = -9 * np.eye(3)[labels[2]]  # never learned
    z[..., 3, :] = 200 * np.eye(3)[labels[3]]  # loss underflows to zero
    z[..., 4, :] = 200 * np.eye(3)[labels[4]]
    d = Dynamics.from_logits(z, labels, ids=ids)
    return Dynamics.from_arrays(
        **d.columns, gradient_norm=rng.random((k, e, n)).astype(dtype), labels=labels, ids=ids
    )


def permuted(d, order):
    return replace(
        d,
        columns={n: c[..., order] for n, c in d.columns.items()},
        ids=d.ids[order],
        labels=d.labels[order],
    )


def is_one_finite_double_per_example(score):
    for n in (12, 30):
        out = score(toy(n=n))
        assert isinstance(out, np.ndarray)
        assert out.dtype == np.float64
        assert out.shape == (n,)
        assert np.isfinite(out).all()


def permuting_examples_permutes_the_score(score):
    for d in (toy(), toy(ids=[f"img/{i}.png" for i in range(30)])):
        order = np.random.default_rng(1).permutation(30)
        assert score(permuted(d, order)).tobytes() == score(d)[order].tobytes()


def permuting_proxies_changes_nothing(score):
    d = toy(k=9)
    order = np.random.default_rng(2).permutation(9)
    assert score(d.only(order.tolist())).tobytes() == score(d).tobytes()


def leaves_its_input_alone(score):
    d = toy()
    before = {n: c.copy() for n, c in d.columns.items()}
    labels, ids = d.labels.copy(), d.ids.copy()
    score(d)
    for name, column in d.columns.items():
        assert np.array_equal(column, before[name])
    assert np.array_equal(d.labels, labels)
    assert np.array_equal(d.ids, ids)
    read_only = toy()
    for column in read_only.columns.values():
        column.flags.writeable = False
    score(read_only)


def is_deterministic(score):
    assert score(toy()).tobytes() == score(toy()).tobytes()
    d = toy()
    assert score(d).tobytes() == score(d).tobytes()


CONTRACT = [
    is_one_finite_double_per_example,
    permuting_examples_permutes_the_score,
    permuting_proxies_changes_nothing,
    leaves_its_input_alone,
    is_deterministic,
]


@pytest.mark.parametrize("name", SCORES)
def test_every_score_keeps_the_contract(name):
    for check in CONTRACT:
        if not (name in ONE_PROXY and check is permuting_proxies_changes_nothing):
            check(SCORES[name])


@pytest.mark.parametrize("name", ONE_PROXY)
def test_only_the_scores_of_one_proxy_depend_on_the_order_of_the_proxies(name):
    with pytest.raises(AssertionError):
        permuting_proxies_changes_nothing(SCORES[name])


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_score_equals_its_oracle(name, dtype):
    for seed, k in ((0, 3), (1, 2), (2, 8)):
        d = toy(k=k, seed=seed, dtype=dtype).at(4)
        assert SCORES[name](d) == pytest.approx(oracles.SCORES[name](d), rel=1e-12, abs=1e-13)


def test_every_score_has_an_oracle():
    assert set(SCORES) == set(oracles.SCORES)


@pytest.mark.parametrize("name", SCORES)
def test_every_score_reads_a_mapped_file_and_a_summary(name, tmp_path):
    d = toy(k=9)
    expected = SCORES[name](d).tobytes()
    assert SCORES[name](Dynamics.load(d.save(tmp_path / "full"))).tobytes() == expected
    assert SCORES[name](Dynamics.load(d.summary().save(tmp_path / "sum"))).tobytes() == expected


@pytest.mark.parametrize(("name", "column"), NEEDS.items())
def test_a_missing_column_is_asked_for_by_name(name, column):
    d = toy()
    for form in (d, d.summary()):
        less = replace(form, columns={n: c for n, c in form.columns.items() if n != column})
        with pytest.raises(InputError, match=f"this needs {column}, which"):
            SCORES[name](less)


@pytest.mark.parametrize("name", NEEDS_LABELS)
def test_missing_labels_are_asked_for(name):
    with pytest.raises(InputError, match="need labels"):
        SCORES[name](replace(toy(), labels=None))


@pytest.mark.parametrize("name", sorted(set(SCORES) - set(NEEDS) - NEEDS_LABELS))
def test_the_other_scores_need_losses_alone(name):
    assert len(SCORES[name](Dynamics.from_losses(np.random.default_rng(0).random((2, 12))))) == 12


def _writes(d):
    d.columns["loss"][0, 0, 0] += 1
    return scores.loss(d)


_calls = []


def _counts_its_calls(d):
    _calls.append(1)
    return scores.loss(d) + len(_calls)


BROKEN = {
    "position counts": (
        permuting_examples_permutes_the_score,
        lambda d: scores.loss(d) + 1e-12 * np.arange(d.examples),
    ),
    "ties broken by position": (
        permuting_examples_permutes_the_score,
        lambda d: np.argsort(np.argsort(scores.loss(d), kind="stable")).astype(np.float64),
    ),
    "first proxy only": (
        permuting_proxies_changes_nothing,
        lambda d: d.snapshot("loss")[0].astype(np.float64),
    ),
    "float32 mean": (
        permuting_proxies_changes_nothing,
        lambda d: d.snapshot("error_norm").mean(axis=0).astype(np.float64),
    ),
    "writes into its input": (leaves_its_input_alone, _writes),
    "one too few": (is_one_finite_double_per_example, lambda d: scores.loss(d)[1:]),
    "single precision": (
        is_one_finite_double_per_example,
        lambda d: scores.loss(d).astype(np.float32),
    ),
    "not finite": (is_one_finite_double_per_example, lambda d: scores.loss(d) + np.inf),
    "a list": (is_one_finite_double_per_example, lambda d: scores.loss(d).tolist()),
    "remembers": (is_deterministic, _counts_its_calls),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_the_contract_rejects_a_score_in_which(fault):
    check, score = BROKEN[fault]
    with pytest.raises((AssertionError, ValueError)):
        check(score)


def test_the_oracle_rejects_a_variance_that_divides_by_k_minus_one():
    d = toy()
    wrong = SCORES["rank_variance"](d) * 3 / 2
    assert wrong != pytest.approx(oracles.SCORES["rank_variance"](d), rel=1e-12)


def test_forgetting_by_hand_in_both_conventions():
    right = np.array(
        [
            # example 0: learned, lost, learned, lost; 1: never; 2: always; 3: lost at the end
            [[1, 0, 1, 1], [0, 0, 1, 1], [1, 0, 1, 1], [0, 0, 1, 0]],
            [[0, 0, 1, 0], [0, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 0]],
        ],
        dtype=bool,
    )
    d = Dynamics.from_arrays(loss=np.ones(right.shape), correct=right)
    assert scores.forgetting(d).tolist() == [1.0, 0.0, 0.0, 0.5]
    assert scores.forgetting_unlearned(d).tolist() == [1.0, 2.0, 0.0, 2.5]


def test_self_confidence_is_the_mean_probability_of_the_label():
    p = np.array([[[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]], [[0.5, 0.25, 0.25], [0.3, 0.3, 0.4]]])
    out = SCORES["self_confidence"](Dynamics.from_probabilities(p, [0, 1]))
    assert out == pytest.approx([0.6, 0.2], rel=1e-9)


def test_aum_is_the_first_proxy_and_all_epochs():
    margin = np.array([[[1.0, -2.0], [3.0, -4.0]], [[10.0, 10.0], [10.0, 10.0]]])
    d = Dynamics.from_arrays(loss=np.ones((2, 2, 2)), margin=margin)
    assert SCORES["aum"](d).tolist() == [2.0, -3.0]
    assert SCORES["aum"](d.at(2)).tolist() == [2.0, -3.0]
    assert SCORES["aum_mean"](d).tolist() == [6.0, 3.5]
    assert SCORES["aum"](d.only([1, 0])).tolist() == [10.0, 10.0]


def test_the_hybrid_runs_from_rank_variance_to_the_gradient_norm():
    d = toy()
    assert (scores.hybrid(d, beta=0) == SCORES["rank_variance"](d)).all()
    assert (scores.hybrid(d, beta=1) == SCORES["grand"](d)).all()
    for beta in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match=r"beta must be in \[0, 1\]"):
            scores.hybrid(d, beta=beta)


def test_random_depends_on_id_and_seed_only():
    a = Dynamics.from_losses(np.eye(3), ids=["x", "y", "z"])
    b = Dynamics.from_losses(np.ones((2, 2)), ids=["z", "x"])
    assert scores.random(b).tolist() == scores.random(a)[[2, 0]].tolist()
    assert (scores.random(a, seed=1) != scores.random(a, seed=2)).all()


def test_random_scores_are_uniform():
    # Kolmogorov's statistic of 10,000 uniform draws is above 0.0243 with probability 1.5e-5.
    out = np.sort(scores.random(Dynamics.from_losses(np.ones((1, 10_000)))))
    assert np.abs(out - (np.arange(10_000) + 0.5) / 10_000).max() < 0.0243
    assert (out >= 0).all()
    assert (out < 1).all()


def mislabelled(n=200, seed=0):
    """Confident, mostly right proxies, and 40 examples whose label they contradict."""
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 3, n)
    bad = np.arange(n) < 40
    given = np.where(bad, (true + 1) % 3, true)
    z = 4 * np.eye(3)[true] + rng.normal(size=(3, 6, n, 3))
    return Dynamics.from_logits(z.astype(np.float32), given), bad


@pytest.mark.parametrize(
    ("sign", "name"),
    [
        *((1, name) for name in ("loss", "el2n", "consensus", "forgetting_unlearned")),
        *((-1, name) for name in ("aum", "aum_mean", "self_confidence")),
    ],
)
def test_the_corrupted_come_first_where_hard_is_large_and_last_where_right_is(sign, name):
    d, bad = mislabelled()
    assert bad[np.argsort(-sign * SCORES[name](d), kind="stable")[:40]].mean() > 0.9
