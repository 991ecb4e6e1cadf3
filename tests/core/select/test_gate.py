"""The gate: a recall that holds with its confidence; the choice behind it: exact, blind, fair."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles_choosing as oracle
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.select.gate import (
    CHOOSERS,
    CONFIDENCE,
    DETECTORS,
    Gate,
    NothingPassesError,
    calibrate_gate,
    canaries_needed,
    keep_passed,
    pick_gate,
    set_gate,
)
from dris.core.select.rules import RULES, Rule, choose

few = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])  # so that ties abound


def gate_at(detector, cut):
    """A gate with a given cut, whatever it promises."""
    return Gate(np.asarray(detector, dtype=float), cut, 0.9, 0.9)


def toy(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return Dynamics.from_logits(rng.normal(size=(3, 4, n, 3)), rng.permutation(np.arange(n) % 3))


def permuted(d, order):
    columns = {name: c[..., order] for name, c in d.columns.items()}
    return replace(d, columns=columns, ids=d.ids[order], labels=d.labels[order])


def test_fifty_nine_canaries_are_the_fewest_for_95_and_95():
    # 1 − 0.95^59 = 0.9515, 1 − 0.95^58 = 0.9490.
    values = np.r_[np.arange(59.0), 100.0]
    gate = calibrate_gate(values, values < 100, recall=0.95, confidence=0.95)
    assert gate.cut == 58.0
    with pytest.raises(InputError, match=r"58 canaries .* plant at least 59"):
        calibrate_gate(values[1:], values[1:] < 100, recall=0.95, confidence=0.95)


def test_what_equals_the_cut_is_rejected():
    values = np.r_[np.zeros(100), np.zeros(5), np.ones(5)]
    gate = calibrate_gate(values, np.arange(110) < 100, recall=0.95, confidence=0.95)
    assert gate.passed.tolist() == [False] * 105 + [True] * 5


@settings(deadline=None, max_examples=60)
@given(
    st.lists(few, min_size=3, max_size=40),
    st.sampled_from([0.5, 0.8, 0.9]),
    st.sampled_from([0.55, 0.9]),  # no binomial tail equals these: rounding decides nothing
)
def test_the_cut_equals_its_slow_version(values, recall, confidence):
    detector = np.r_[values, 9.0]
    expected = oracle.cut(values, recall, confidence)
    if expected is None:
        assert canaries_needed(recall, confidence) > len(values)
        with pytest.raises(InputError, match="plant at least"):
            calibrate_gate(detector, detector < 9, recall=recall, confidence=confidence)
        return
    gate = calibrate_gate(detector, detector < 9, recall=recall, confidence=confidence)
    assert gate.cut == expected
    assert canaries_needed(recall, confidence) <= len(values)


def violations(cut_of, *, draws, canaries, recall, seed):
    """How often a cut rejects less than `recall` of the distribution its canaries came from."""
    rng = np.random.default_rng(seed)
    cuts = np.array([cut_of(rng.random(canaries)) for _ in range(draws)])
    return int((cuts < recall).sum())  # uniform values: the share at or below a cut is the cut


def exact_cut(values):
    detector = np.r_[values, 2.0]
    return calibrate_gate(detector, detector < 2, recall=0.9, confidence=0.95).cut


def plain_quantile(values):
    return float(np.quantile(values, 0.9, method="higher"))


def test_the_recall_holds_with_its_confidence_and_a_plain_quantile_violates_it():
    asked = {"draws": 5000, "canaries": 150, "recall": 0.9, "seed": 1}
    # At most Binomial(5000, 0.05): more than 319 violations have probability below 1e-5.
    assert violations(exact_cut, **asked) <= 319
    assert violations(plain_quantile, **asked) > 1500


def promised_to_the_best(doubt_shared, *, draws):
    """How often the gate that lets most pass, of four alike, rejects too few of the canaries' kind.

    Its detectors are as good as coin flips on everybody: a cut that happens to be low lets more
    pass, so that looking for the best finds the unlucky ones.
    """
    rng = np.random.default_rng(4)
    recall, confidence, missed = 0.9, 0.9, 0
    for _ in range(draws):
        values = rng.random((4, 400))
        mask = np.arange(400) < 100
        if doubt_shared:
            best = pick_gate(values, mask, recall=recall, confidence=confidence)
        else:
            gates = [calibrate_gate(v, mask, recall=recall, confidence=confidence) for v in values]
            best = max(gates, key=lambda gate: gate.passed.sum())
        missed += best.cut < recall  # uniform values: the share at or below a cut is the cut
    return missed


def test_the_recall_holds_for_the_best_of_four_and_without_sharing_the_doubt_it_does_not():
    # At most Binomial(2000, 0.1): more than 259 have probability below 1e-5.
    assert promised_to_the_best(True, draws=2000) <= 259
    assert promised_to_the_best(False, draws=2000) > 300


def test_proxies_that_memorize_their_labels_are_judged_by_their_first_epochs():
    rng = np.random.default_rng(0)
    n, wrong = 1000, np.arange(1000) < 400
    early = np.where(wrong, -2.0, 2.0) + rng.normal(size=(2, 2, n))
    late = 9 + 4 * rng.normal(size=(2, 14, n))  # everything is learned, as it happens
    margin = np.concatenate((early, late), axis=1)
    d = Dynamics.from_arrays(loss=-margin, margin=margin)
    mask = np.arange(n) % 2 == 0
    passed_by = {
        name: set_gate(d, wrong & mask, detector=name).passed for name in ("margin", "early_margin")
    }
    right = {name: passed[~wrong].mean() for name, passed in passed_by.items()}
    assert right["early_margin"] > 0.95
    assert right["margin"] < 0.3


@pytest.mark.parametrize(
    # 1 − 0.9^29 = 0.953, 1 − 0.9^36 = 0.977, 3 × 39 for three and 3 × 42 for four.
    ("canaries", "tried"),
    [(29, 1), (35, 1), (36, 2), (116, 2), (117, 3), (125, 3), (126, 4), (200, 4)],
)
def test_few_canaries_try_fewer_variants(canaries, tried):
    d = Dynamics.from_logits(np.random.default_rng(0).normal(size=(2, 8, 300, 3)), [0] * 300)
    mask = np.arange(300) < canaries
    variants = DETECTORS["early_margin"](d)
    gates = [pick_gate(variants[:j], mask, recall=0.9, confidence=0.95) for j in (tried, 1)]
    for detector, gate in zip(("early_margin", "margin"), gates, strict=True):
        ours = set_gate(d, mask, detector=detector)
        assert (ours.cut, ours.passed.tolist()) == (gate.cut, gate.passed.tolist())


def test_too_few_are_returned_unless_filled():
    gate = gate_at([0.1, 0.3, 0.2, 1, 1, 0], 0.5)
    subset = keep_passed(gate, np.zeros(6), fraction=0.67)
    assert subset.indices.tolist() == [3, 4]
    assert (subset.parameters["short"], subset.parameters["filled"]) == (2, 0)
    full = keep_passed(gate, np.zeros(6), fraction=0.67, fill=True)
    assert full.indices.tolist() == [1, 2, 3, 4]
    assert (full.parameters["short"], full.parameters["filled"]) == (0, 2)


@settings(deadline=None, max_examples=80)
@given(st.data(), st.integers(8, 30), st.booleans(), st.integers(0, 3))
def test_gated_equals_its_slow_version_wherever_the_examples_stand(data, n, fill, seed):
    detector, score = (data.draw(st.lists(few, min_size=n, max_size=n)) for _ in range(2))
    rng = np.random.default_rng(seed)
    ids = rng.permutation(10 * n)[:n]
    kept = oracle.gated(detector, score, 0.0, n // 2, fill, ids, seed)
    if not kept:
        return
    order = rng.permutation(n)
    asked = {"fraction": 0.5, "fill": fill, "seed": seed}
    one = keep_passed(gate_at(detector, 0.0), score, ids=ids, **asked)
    assert set(one.indices) == kept
    moved = gate_at(np.array(detector)[order], 0.0)
    two = keep_passed(moved, np.array(score)[order], ids=ids[order], **asked)
    assert set(ids[order][two.indices]) == set(ids[one.indices])
    assert one.tied == two.tied


def test_a_choice_that_ignored_the_gate_would_be_caught():
    detector, score = np.arange(20) % 2, np.arange(20.0)
    slow = oracle.gated(detector, score, 0.0, 5, False, np.arange(20), 0)
    assert set(keep_passed(gate_at(detector, 0.0), score, fraction=0.25).indices) == slow
    assert set(np.argsort(score)[-5:]) != slow


@pytest.mark.parametrize("name", DETECTORS)
def test_every_detector_puts_a_wrong_label_below_a_right_one(name):
    z = np.zeros((2, 3, 6, 3))
    labels = np.array([0, 1, 2, 0, 1, 2])
    z[:, :, np.arange(6), labels] = 4.0
    z[:, :, 5] = [4.0, 0.0, 0.0]  # labelled 2, looks like 0
    for score in DETECTORS[name](Dynamics.from_logits(z, labels)):
        assert score.argmin() == 5
        assert (np.delete(score, 5) > score[5]).all()


def test_early_margins_are_of_the_first_epochs_and_a_summary_has_but_the_sum():
    rng = np.random.default_rng(0)
    for epochs, ends in ((16, (16, 4, 8, 2)), (8, (8, 2, 4, 1)), (7, (7, 1, 3))):
        d = Dynamics.from_logits(rng.normal(size=(2, epochs, 5, 3)), [0, 1, 2, 0, 1])
        expected = [d.margin[:, :end].mean(axis=(0, 1)) for end in ends]
        np.testing.assert_allclose(DETECTORS["early_margin"](d), expected, atol=1e-12)
    (whole,) = DETECTORS["early_margin"](d.summary())
    assert whole.tolist() == DETECTORS["margin"](d)[0].tolist()
    assert len(DETECTORS["early_margin"](Dynamics.from_logits(np.zeros((1, 4, 2)), [0] * 4))) == 1


@pytest.mark.parametrize("name", CHOOSERS)
def test_choosers_follow_the_examples_and_not_their_places(name):
    d, order = toy(), np.random.default_rng(3).permutation(40)
    among = d.ids % 4 > 0
    score = CHOOSERS[name](d, among, 1)
    assert score.shape == (40,)
    assert np.isfinite(score).all()
    assert CHOOSERS[name](permuted(d, order), among[order], 1).tolist() == score[order].tolist()


@pytest.mark.parametrize(("sizes", "count"), [((20, 10, 4), 9), ((20, 10, 4), 21), ((3, 9, 9), 6)])
def test_the_class_balanced_chooser_takes_equally_many_of_every_class(sizes, count):
    labels = np.repeat(np.arange(3), sizes)
    n = 2 * labels.size  # as many again fail the gate
    labels = np.r_[labels, labels]
    d = Dynamics.from_logits(np.zeros((1, n, 3)), labels)
    passed = np.arange(n) < n // 2
    gate = gate_at(passed.astype(float), 0.5)
    score = CHOOSERS["class_balanced"](d, gate.passed, 0)
    kept = keep_passed(gate, score, fraction=f"{count}/{n}").indices
    counts = np.bincount(labels[kept], minlength=3)
    expected = oracle.class_balanced_counts(sizes, count)
    assert sorted(counts) == sorted(expected)
    assert np.abs(counts - expected).max() <= 1  # who gets the odd one is a draw


def test_half_el2n_prefers_the_hard_and_does_not_leave_out_the_easy():
    n = 900
    z = np.zeros((1, n, 2))
    z[0, :, 0] = np.linspace(-3, 3, n)  # labelled 0: hard first, easy last
    d = Dynamics.from_logits(z, np.zeros(n, dtype=int))
    gate = gate_at(np.ones(n), 0.0)
    kept = keep_passed(gate, CHOOSERS["half_el2n"](d, gate.passed, 0), fraction=0.5).indices
    # Rank + uniform above 1 keeps rank r with probability r: thirds keep 5/6, 1/2, 1/6 of 300.
    # Each count has an sd below 8; within 45 of its mean by 5.6 sd, tail below 1e-7.
    assert np.abs(np.bincount(kept // 300) - [250, 150, 50]).max() < 45
    added = CHOOSERS["half_el2n"](d, gate.passed, 0) - CHOOSERS["uniform"](d, gate.passed, 0)
    assert added == pytest.approx(np.arange(n, 0, -1) / n)
    top = keep_passed(gate, CHOOSERS["el2n"](d, gate.passed, 0), fraction=0.5).indices
    assert np.bincount(top // 300, minlength=3).tolist() == [300, 150, 0]


@pytest.mark.parametrize("chooser", CHOOSERS)
@pytest.mark.parametrize("detector", DETECTORS)
def test_one_call_is_the_three_steps(detector, chooser):
    d, canaries = toy(300), np.random.default_rng(5).permutation(300) < 60
    gate = pick_gate(DETECTORS[detector](d), canaries, recall=0.5, confidence=0.95)
    score = CHOOSERS[chooser](d, gate.passed, 3)
    steps = keep_passed(gate, score, fraction=0.2, seed=3, ids=d.ids)
    rule = Rule(method="gated", detector=detector, recall=0.5, chooser=chooser)
    whole = choose(rule, d, keep=0.2, choosing=canaries, seed=3)
    assert whole.indices.tolist() == steps.indices.tolist()


def test_the_default_is_frozen():
    # Chosen on digits and Fashion-MNIST alone: do not tune it.
    how = {"detector": "early_margin", "recall": 0.9, "chooser": "half_el2n", "fill": False}
    assert (RULES["gated"].parameters, CONFIDENCE) == (how, 0.95)


def test_what_cannot_be_chosen_is_refused():
    with pytest.raises(NothingPassesError, match="0 of 2 pass"):
        keep_passed(gate_at([0, 1], 1), np.arange(2.0), fraction=0.5)
    for wrong, says in (({"fraction": 2}, "fraction"), ({"fraction": 0.5, "seed": -1}, "seed")):
        with pytest.raises(InputError, match=says):
            keep_passed(gate_at([0, 1], 0.5), np.arange(2.0), **wrong)
    with pytest.raises(InputError, match="needs labels"):
        CHOOSERS["class_balanced"](Dynamics.from_losses(np.eye(2)), np.ones(2, dtype=bool), 0)
