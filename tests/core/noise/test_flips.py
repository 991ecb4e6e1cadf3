"""Label noise: exact counts, never the true class, the right distribution, separate streams."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import chdtri

import oracles_choosing as oracle
from dris.core.errors import InputError
from dris.core.noise.flips import NOISE_KINDS, NoisyLabels, _Task, _transition, flip_labels

TAIL = 1e-6  # of every chi-square threshold below


def labels_of(n, classes, seed=0):
    """Random labels in which every class occurs."""
    return np.random.default_rng(seed).permutation(np.arange(n) % classes)


def some(name, y, classes, seed=0):
    """A valid value for one of the extra arguments."""
    rng = np.random.default_rng(seed)
    return {
        "norms": lambda: rng.exponential(size=y.size),
        "matrix": lambda: rng.dirichlet(np.ones(classes), size=classes),
        "probabilities": lambda: rng.dirichlet(np.ones(classes), size=y.size),
        "features": lambda: rng.normal(size=(y.size, 5)),
    }[name]()


WAYS = [(kind, needs) for kind, ways in NOISE_KINDS.items() for needs in ways]
COUNTED = [(kind, needs) for kind, needs in WAYS if "rate" in needs]


def flip(kind, needs, y, classes, rate, seed=0):
    extra = {name: some(name, y, classes) for name in needs if name != "rate"}
    rate = rate if "rate" in needs else None
    return flip_labels(y, rate, kind=kind, seed=seed, classes=classes, **extra)


def chi_square_fits(counts, expected):
    """Whether the counts agree with the expectation, at the tail probability above."""
    counts, expected = np.ravel(counts), np.ravel(expected)
    possible = expected > 0
    if counts[~possible].any():
        return False
    statistic = np.sum((counts - expected)[possible] ** 2 / expected[possible])
    return bool(statistic < chdtri(possible.sum() - 1, TAIL))


def test_pair_noise_moves_to_the_next_class_cyclically():
    noisy = flip_labels([0, 1, 2, 2], 0.75, kind="pair", classes=3)
    assert noisy.flipped.sum() == 3
    assert (noisy.given == (noisy.true + noisy.flipped) % 3).all()


def test_with_two_classes_the_other_class_is_certain():
    noisy = flip_labels([0, 1, 0, 1], 0.5)
    assert (noisy.given == np.where(noisy.flipped, 1 - noisy.true, noisy.true)).all()
    assert noisy.rate == 0.5


def test_targeted_noise_hits_the_largest_norms():
    noisy = flip_labels([0, 1, 2, 0, 1], 0.4, kind="targeted", norms=[1, 5, 0, 9, 2])
    assert noisy.flipped.tolist() == [False, True, False, True, False]


def test_targeted_ties_are_broken_by_the_seed_not_by_the_position():
    y = labels_of(20, 2)
    hit = np.zeros(20)
    for seed in range(400):
        hit += flip_labels(y, 0.5, kind="targeted", norms=np.ones(20), seed=seed).flipped
    # Each is Binomial(400, 1/2), sd 10: any of 20 outside 6 sd has a tail below 1e-7.
    assert np.abs(hit - 200).max() < 61


def test_a_permutation_matrix_relabels_everything_and_the_identity_nothing():
    y = labels_of(30, 3)
    cycle = flip_labels(y, kind="transition", matrix=np.roll(np.eye(3), 1, axis=1))
    assert (cycle.given == (y + 1) % 3).all()
    assert cycle.rate == 1.0
    assert flip_labels(y, kind="transition", matrix=np.eye(3)).rate == 0.0


@pytest.mark.parametrize("draw", [0.0, np.nextafter(1.0, 0.0)])
def test_transition_noise_stays_inside_its_row_at_the_ends_of_the_draw(draw):
    class Loaded:
        def random(self, n):
            return np.full(n, draw)

    matrix = np.array([[0.0, 0.9995, 0.0]] * 3)  # sums to 1 as float16 rows do
    assert _transition(_Task(np.array([0, 1, 2]), 3, 0, Loaded()), matrix).tolist() == [1, 1, 1]


def test_instance_noise_flips_what_the_model_doubts_to_what_it_believes():
    sure, doubts = [1.0, 0.0, 0.0], [0.5, 0.0, 0.5]
    noisy = flip_labels(
        [0, 0, 0, 0], 0.5, kind="instance", probabilities=[sure, doubts, sure, doubts]
    )
    assert noisy.given.tolist() == [0, 2, 0, 2]


@pytest.mark.parametrize(("kind", "needs"), COUNTED)
@settings(deadline=None, max_examples=25)
@given(
    n=st.integers(4, 60),
    classes=st.integers(2, 5),
    rate=st.sampled_from([0, 0.07, 0.1, 0.25, 0.29, 1 / 3, 0.5, 0.57, 0.999]),
    seed=st.integers(0, 5),
)
def test_exactly_the_asked_number_flips_and_none_to_its_own_class(
    kind, needs, n, classes, rate, seed
):
    y = labels_of(n, classes, seed)
    noisy = flip(kind, needs, y, classes, rate, seed)
    assert (noisy.given != noisy.true).sum() == noisy.flipped.sum() == oracle.flips(rate, n)
    assert (noisy.true == y).all()
    assert 0 <= noisy.given.min() <= noisy.given.max() < classes
    assert noisy.rate == oracle.flips(rate, n) / n


@pytest.mark.parametrize(("rate", "n", "count"), [(0.29, 50_000, 14_500), (0.57, 100, 57)])
def test_counts_are_exact_where_floats_lose_one(rate, n, count):
    assert flip_labels(labels_of(n, 3), rate).flipped.sum() == count
    assert int(rate * n) == count - 1  # The twin: what plain floats give.


def test_uniform_noise_takes_positions_and_other_classes_alike():
    y = labels_of(20_000, 5)
    noisy = flip_labels(y, 0.5, seed=1)
    table = np.zeros((5, 5))
    np.add.at(table, (y[noisy.flipped], noisy.given[noisy.flipped]), 1)
    expected = np.where(np.eye(5, dtype=bool), 0, 10_000 / 20)
    assert chi_square_fits(table, expected)
    halves = noisy.flipped.reshape(10, -1).sum(axis=1)
    assert chi_square_fits(halves, np.full(10, 1000))


@pytest.mark.parametrize(
    "steps",
    [
        lambda rng, n: rng.integers(0, 5, size=n),  # can stay at the true class
        lambda rng, n: rng.integers(1, 4, size=n),  # never reaches one class
        lambda rng, n: rng.integers(1, 6, size=n),  # wraps around to the true class
        lambda rng, n: np.ones(n, dtype=int),  # pair noise
    ],
)
def test_draws_that_are_off_by_one_would_be_caught(steps):
    y = labels_of(10_000, 5)
    new = (y + steps(np.random.default_rng(0), y.size)) % 5
    table = np.zeros((5, 5))
    np.add.at(table, (y, new), 1)
    assert not chi_square_fits(table, np.where(np.eye(5, dtype=bool), 0, 10_000 / 20))


def test_transition_noise_follows_its_rows_and_not_its_columns():
    matrix = np.array([[0.7, 0.3, 0.0], [0.0, 0.5, 0.5], [0.1, 0.1, 0.8]])
    y = labels_of(30_000, 3)
    noisy = flip_labels(y, kind="transition", matrix=matrix)
    table = np.zeros((3, 3))
    np.add.at(table, (noisy.true, noisy.given), 1)
    assert chi_square_fits(table, 10_000 * matrix)
    assert not chi_square_fits(table, 10_000 * matrix.T)
    assert noisy.how["matrix"] == matrix.tolist()
    assert noisy.rate == pytest.approx(1 / 3, abs=0.02)  # sd 0.0026: over 7 sd


def test_instance_noise_draws_new_classes_from_the_model():
    n = 20_000
    y = np.zeros(n, dtype=int)
    noisy = flip_labels(y, 0.5, kind="instance", probabilities=np.tile([0.4, 0.45, 0.15], (n, 1)))
    counts = np.bincount(noisy.given[noisy.flipped], minlength=3)
    assert chi_square_fits(counts, [0, 7500, 2500])
    assert not chi_square_fits(counts, [0, 5000, 5000])


def test_instance_noise_chooses_in_proportion_to_doubt():
    # One flip among three examples: doubts of 0.1, 0.3 and 0.6 are hit 1 : 3 : 6.
    p = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]])
    hits = np.zeros(3)
    for seed in range(2000):
        hits += flip_labels([0, 0, 0], 0.34, kind="instance", probabilities=p, seed=seed).flipped
    assert chi_square_fits(hits, [200, 600, 1200])
    assert not chi_square_fits(hits, [667, 667, 666])


def test_feature_noise_sends_like_examples_the_same_way():
    # Two far-apart clusters of one class: within a cluster one new class prevails.
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(size=(500, 8)) + 30, rng.normal(size=(500, 8)) * 3 - 30]
    noisy = flip_labels(np.zeros(1000, dtype=int), 0.4, kind="instance", features=x, classes=6)
    for cluster in (slice(0, 500), slice(500, 1000)):
        new = noisy.given[cluster][noisy.flipped[cluster]]
        assert np.bincount(new).max() > 0.7 * new.size
    # The twin: uniform noise prefers no class (1/5 of 200, sd 5.7: 0.7 is over 17 sd away).
    new = flip_labels(np.zeros(1000, dtype=int), 0.4, classes=6)
    assert np.bincount(new.given[new.flipped]).max() < 0.7 * 400


@pytest.mark.parametrize(("kind", "needs"), WAYS)
def test_a_seed_gives_the_same_noise_again_and_another_seed_other_noise(kind, needs):
    y = labels_of(300, 4)
    y.flags.writeable = False
    one, again, other = (flip(kind, needs, y, 4, 0.3, seed) for seed in (7, 7, 8))
    assert one == again
    assert one != other
    assert (y == labels_of(300, 4)).all()
    assert json.loads(json.dumps(one.how)) == one.how
    assert (one.how["kind"], one.how["seed"], one.how["classes"]) == (kind, 7, 4)


def test_kinds_draw_from_streams_of_their_own():
    y = labels_of(1000, 2)
    uniform = flip_labels(y, 0.5).flipped
    pair = flip_labels(y, 0.5, kind="pair").flipped
    # Two independent halves overlap in 250, sd 7.9: outside 6 sd has a tail below 1e-8.
    assert abs((uniform & pair).sum() - 250) < 48
    assert abs((uniform & uniform).sum() - 250) >= 48  # The twin: one stream for both.


@pytest.mark.parametrize("as_type", [np.int8, np.uint8, np.int64, np.uint64, list])
def test_labels_of_any_whole_type_give_the_same_noise(as_type):
    y = labels_of(200, 100)
    typed = y.tolist() if as_type is list else y.astype(as_type)
    noisy = flip_labels(typed, 0.5)
    assert noisy == flip_labels(y, 0.5)
    assert noisy.given.dtype == noisy.true.dtype == np.int64


def test_noisy_labels_are_values():
    given, true = np.array([0, 1]), np.array([1, 1])
    noisy = NoisyLabels(given, true, {"kind": "by hand"})
    given[0] = 1
    assert noisy.flipped.tolist() == [True, False]
    assert noisy.given.tolist() == [0, 1]
    assert pickle.loads(pickle.dumps(noisy)) == noisy
    assert noisy != NoisyLabels(true, true, {"kind": "by hand"})
    for array in (noisy.given, noisy.true, noisy.flipped):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("labels", "says"),
    [(["cat", "dog"], "integers"), ([1, 1, 1], "two classes"), ([0, -1], "0 or more")],
)
def test_bad_labels_are_refused(labels, says):
    with pytest.raises(InputError, match=says):
        flip_labels(labels, 0.5)


@pytest.mark.parametrize(("kind", "needs"), COUNTED)
@pytest.mark.parametrize("rate", [-0.1, 1, 1.5, -5, 7, float("nan"), "x"])
def test_bad_rates_are_refused(kind, needs, rate):
    with pytest.raises(InputError, match="rate must be"):
        flip(kind, needs, labels_of(12, 3), 3, rate)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"kind": "sneaky"}, "one of uniform, targeted, pair, transition, instance"),
        ({"rate": None}, "uniform noise needs rate; got neither"),
        ({"norms": [1, 2, 3]}, "uniform noise does not use norms; pass rate"),
        ({"kind": "targeted"}, "targeted noise needs rate and norms; got rate"),
        ({"kind": "transition", "matrix": np.eye(3)}, "does not use rate; pass matrix"),
        ({"kind": "instance"}, "rate and probabilities, or rate and features"),
        (
            {"kind": "instance", "features": np.eye(3), "probabilities": np.eye(3)},
            "rate and probabilities, or rate and features",
        ),
        ({"kind": "targeted", "norms": [1, 2]}, "3 labels, 2 norms"),
        ({"kind": "targeted", "norms": [1, 2, -3]}, "0 or more"),
        ({"kind": "transition", "rate": None, "matrix": np.eye(3)[:2]}, r"shape \(3, 3\)"),
        ({"kind": "transition", "rate": None, "matrix": 2 * np.eye(3)}, "row 0 .* sum of 2"),
        (
            {"kind": "transition", "rate": None, "matrix": [[1, 0, 0], [2, -1, 0], [0, 0, 1]]},
            "row 1 has a smallest of -1",
        ),
        ({"kind": "instance", "probabilities": np.eye(3)[:2]}, r"shape \(3, 3\)"),
        ({"kind": "instance", "probabilities": np.full((3, 3), np.nan)}, "row 0"),
        ({"kind": "instance", "features": [1, 2, 3]}, "one row per example"),
        ({"kind": "instance", "features": [[1], [2], [1e200]]}, "standardise"),
        ({"classes": 2}, "below classes = 2"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_arguments_are_refused_by_name(asked, says):
    with pytest.raises(InputError, match=says):
        flip_labels([0, 1, 2], **{"rate": 0.5, **asked})
