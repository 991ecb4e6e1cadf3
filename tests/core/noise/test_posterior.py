"""P(wrong) by a posterior over noise models, beside Bayes' answer where that is known exactly."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from dris.core.dynamics.columns import ClassProbabilities
from dris.core.noise.hypotheses import by_class, calibration
from dris.core.noise.hypotheses.by_class import ClassNoise, confident_matrix, uniform_matrix
from dris.core.noise.hypotheses.calibration import softmax
from dris.core.noise.hypotheses.hypothesis import Evidence, log_clearness
from dris.core.noise.hypotheses.uniform import UniformNoise, fit_none
from dris.core.noise.posterior import NoiseRate, fit_posterior, percent
from dris.core.noise.views import Views, join_views, likeliest_views

SKEWED = np.array([[0.6, 0.3, 0.1], [0.05, 0.95, 0.0], [0.0, 0.0, 1.0]])


class World:
    """Gaussian classes whose clean probabilities η and noise T are known, and models that hedge.

    A model says softmax(z / 2) T where η is softmax(z): it has learned the noise but is half as
    sure as it might be, as models are that stop early.
    """

    def __init__(self, noise, *, n=2500, apart=2.5, seed=0):
        rng, self.noise, classes = np.random.default_rng(seed), noise, len(noise)
        self.truth = rng.integers(classes, size=n)
        z = apart * (apart * np.eye(classes)[self.truth] + rng.normal(size=(n, classes)))
        self.eta = softmax(z)
        drawn = (noise[self.truth].cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
        self.given = drawn.clip(0, classes - 1)
        said = softmax(z / 2) @ noise
        self.views = Views(np.stack((said, said)), classes, (False, False))
        self.wrong = self.truth != self.given

    def posterior(self):
        return fit_posterior(self.views, self.given, np.arange(len(self.given)))

    def bayes(self):
        joint = self.eta * self.noise[:, self.given].T
        return 1 - joint[np.arange(len(joint)), self.given] / joint.sum(axis=1)


@pytest.fixture(scope="module")
def noisy():
    world = World(uniform_matrix(0.2, 3), n=1500)
    return world, world.posterior().of(world.views, world.given)


@pytest.mark.parametrize(
    ("noise", "family"),
    [
        (uniform_matrix(0.1, 2), "uniform"),
        (uniform_matrix(0.2, 3), "uniform"),
        (uniform_matrix(0.3, 5), "uniform"),
        (SKEWED, "by class"),
    ],
)
def test_p_wrong_is_bayes_answer_where_that_is_known(noise, family):
    world = World(noise)
    posterior = world.posterior()
    belief, rate = posterior.of(world.views, world.given), posterior.rate
    assert posterior.families[family] > 0.95
    assert np.abs(belief.wrong - world.bayes()).mean() < 0.02
    assert rate.low <= world.wrong.mean() <= rate.high
    assert rate.likely == pytest.approx(belief.wrong.mean(), abs=0.003)
    suspects = belief.wrong > 0.5
    assert belief.wrong[suspects].sum() == pytest.approx(world.wrong[suspects].sum(), rel=0.1)
    assert (suspects == (world.bayes() > 0.5)).mean() > 0.98
    right = ~world.wrong & (world.eta.max(axis=1) > 0.99)
    assert belief.weights[right].mean() > 0.9 > 0.2 > belief.weights[suspects].mean()


def test_families_that_did_not_count_elsewhere_are_not_fitted_again(noisy):
    world, whole = noisy
    among = {"uniform": 0.9, "by class": 0.1}  # the second does not count
    again = fit_posterior(world.views, world.given, np.arange(len(world.given)), among=among)
    assert again.families["uniform"] > 0.95
    assert {again.families[name] for name in ("by class", "lookalike", "unclear")} == {0.0}
    assert again.of(world.views, world.given).wrong == pytest.approx(whole.wrong, abs=0.02)
    assert world.posterior().families["by class"] > 0.0  # the twin


@pytest.mark.parametrize("apart", [1.2, 2.5])
@pytest.mark.parametrize("classes", [2, 4])
def test_clean_classes_that_overlap_have_next_to_no_suspects(classes, apart):
    world = World(np.eye(classes), apart=apart)
    posterior = world.posterior()
    assert posterior.rate.low == 0
    assert max(posterior.families, key=posterior.families.get) == "none"
    wrong = posterior.of(world.views, world.given).wrong
    assert (wrong > 0.5).mean() < 0.005
    assert (world.eta.argmax(axis=1) != world.given).mean() > 0.005  # which a comparison would drop


@pytest.mark.parametrize("classes", [2, 4, 10])
@pytest.mark.parametrize("blur", [5, 50])
def test_where_labels_cannot_be_predicted_nothing_is_a_suspect_and_any_share_possible(
    classes, blur
):
    rng = np.random.default_rng(0)
    said = rng.dirichlet(np.full(classes, blur), size=(3, 2000))
    views, labels = Views(said, classes, (False,) * 3), rng.integers(classes, size=2000)
    posterior = fit_posterior(views, labels, np.arange(2000))
    assert not (posterior.of(views, labels).wrong > 0.5).any()
    assert (posterior.rate.low, posterior.rate.high) == (0, 1 - 1 / classes)
    views.values[0, np.arange(800), labels[:800]] += 1  # the twin: some are predicted
    views.values[0] /= views.values[0].sum(axis=1, keepdims=True)
    assert fit_posterior(views, labels, np.arange(2000)).rate.high != 1 - 1 / classes


def test_of_labels_drawn_by_a_coin_not_even_a_lucky_set_has_suspects(monkeypatch):
    def accused(seed):
        rng = np.random.default_rng(seed)
        views = Views(rng.dirichlet([5, 5], size=(3, 2000)), 2, (False,) * 3)
        labels = rng.integers(2, size=2000)
        return (fit_posterior(views, labels, np.arange(2000)).of(views, labels).wrong > 0.5).sum()

    assert sum(map(accused, range(12))) == 0
    monkeypatch.setattr("dris.core.noise.hypotheses.hypothesis.LUCK", 0)
    assert accused(8) > 500  # the twin


def test_the_order_of_rows_and_the_names_of_classes_change_nothing(noisy):
    world, belief = noisy
    rows = np.random.default_rng(1).permutation(len(world.given))
    back = np.argsort(rows)  # the same rows are fitted to, in the same order
    again = fit_posterior(world.views.take(rows), world.given[rows], back)
    moved = again.of(world.views.take(rows), world.given[rows]).wrong
    assert moved == pytest.approx(belief.wrong[rows], abs=1e-9)
    name = np.array([2, 0, 1])
    values = world.views.values[:, :, np.argsort(name)]
    views, labels = Views(values, 3, (False, False)), name[world.given]
    renamed = fit_posterior(views, labels, np.arange(len(labels))).of(views, labels).wrong
    assert renamed == pytest.approx(belief.wrong, abs=0.01)


def test_a_copy_of_every_row_changes_little(noisy):
    world, belief = noisy
    rows = np.tile(np.arange(len(world.given)), 2)
    views, labels = world.views.take(rows), world.given[rows]
    twice = fit_posterior(views, labels, np.arange(rows.size)).of(views, labels).wrong
    assert np.array_equal(*np.split(twice, 2))
    assert np.abs(twice - belief.wrong[rows]).mean() < 0.01


def test_lookalike_errors_are_known_for_such_and_uniform_ones_are_not():
    world = World(np.eye(5), n=2500, apart=1.8)
    rng = np.random.default_rng(3)
    others = np.where(np.eye(5, dtype=bool)[world.truth], 0, world.eta)
    others /= others.sum(axis=1, keepdims=True)
    slip = (others.cumsum(axis=1) < rng.random((2500, 1))).sum(axis=1).clip(0, 4)
    labels = np.where(rng.random(2500) < 0.3, slip, world.truth)
    families = fit_posterior(world.views, labels, np.arange(2500)).families
    assert families["uniform"] < 0.05
    even = World(uniform_matrix(0.3, 5), n=1500, apart=1.8).posterior().families  # the twin
    assert even["lookalike"] < 0.05


def test_errors_on_unclear_rows_are_found_and_overlap_alone_is_not_taken_for_them():
    world = World(np.eye(5), n=2500, apart=1.8)
    rng = np.random.default_rng(3)
    two = np.sort(world.eta, axis=1)[:, -2:]
    wrong = np.argsort(np.argsort(two[:, 1] - two[:, 0])) < 500  # what an attacker would flip
    labels = np.where(wrong, (world.truth + rng.integers(1, 5, 2500)) % 5, world.truth)
    posterior = fit_posterior(world.views, labels, np.arange(2500))
    suspects = posterior.of(world.views, labels).wrong > 0.5
    assert posterior.families["unclear"] > 0.9
    assert wrong[suspects].mean() > 0.9
    assert suspects[wrong].mean() > 0.6
    assert posterior.rate.low < 0.2 < posterior.rate.high
    alone = fit_posterior(world.views, world.truth, np.arange(2500))  # the twin
    assert alone.families["unclear"] < 0.05


def test_many_classes_agree_with_the_whole_computation():
    world = World(uniform_matrix(0.2, 20), n=800)
    whole = world.posterior().of(world.views, world.given).wrong
    held = ClassProbabilities(world.views.values.astype(np.float32), np.zeros((2, 800)), 20)
    some = likeliest_views(held, [world.given])
    assert some.values.shape == (2, 800, 14)
    sparse = fit_posterior(some, world.given, np.arange(800)).of(some, world.given)
    assert ((sparse.wrong > 0.5) == (whole > 0.5)).mean() > 0.9
    assert sparse.truth.sum(axis=1) == pytest.approx(1)


def test_a_thousand_classes_are_the_same_kept_or_in_full():
    rng = np.random.default_rng(0)
    n, classes = 1000, 1000
    truth, wrong = rng.integers(classes, size=n), rng.random(n) < 0.2
    given = np.where(wrong, rng.integers(classes, size=n), truth)
    sure = rng.uniform(0.3, 0.99, size=n)
    values = np.repeat(np.tile((1 - sure) / (classes - 1), (2, 1))[:, :, None], classes, axis=2)
    values[:, np.arange(n), truth] = sure
    full = join_views(values, None, [given])
    top, p = ClassProbabilities(values.astype(np.float32), np.zeros((2, n)), classes).likeliest(
        [given]
    )
    kept = np.broadcast_to(top, (2, *top.shape))
    held = ClassProbabilities(p, np.zeros((2, n)), classes, kept)
    some = likeliest_views(held, [given])
    beliefs = [fit_posterior(v, given, np.arange(n)).of(v, given).wrong for v in (full, some)]
    assert beliefs[0] == pytest.approx(beliefs[1], abs=1e-3)
    assert ((beliefs[0] > 0.5) == (given != truth)).mean() > 0.99


def test_columns_are_classes_up_to_25_and_else_the_labels_and_the_likeliest():
    rng = np.random.default_rng(0)
    few = join_views(rng.dirichlet(np.ones(25), size=(2, 5)), np.full((5, 25), 0.04), [])
    assert (few.columns, few.flexible) == (None, (False, False, True))
    labels = np.array([3, 0, 1, 24, 7])
    assert few.column_of(labels) is labels is few.class_of(labels)
    p = rng.dirichlet(np.full(40, 0.1), size=(2, 5))
    p[:, :, 39] = 0  # the least likely
    p /= p.sum(axis=2, keepdims=True)
    own = np.full(5, 39)
    many = join_views(p, None, [own, np.arange(5)])
    assert many.class_of(many.column_of(own)).tolist() == own.tolist()
    assert many.class_of(many.column_of(np.arange(5))).tolist() == list(range(5))
    assert many.class_of(np.full(5, 13)).tolist() == [-1] * 5
    assert many.spread.tolist() == [1] * 13 + [27]
    assert many.values.sum(axis=2) == pytest.approx(1)
    part = many.take(np.array([4, 2]))
    assert (len(part), part.columns.tolist()) == (2, many.columns[[4, 2]].tolist())
    assert p.mean(axis=0)[0].max() == pytest.approx(many.values.mean(axis=0)[0].max(), abs=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_gradients_are_those_of_finite_differences(monkeypatch, classes):
    world = World(uniform_matrix(0.2, classes), n=60)
    seen = []

    def minimise(objective, start, *_):
        seen.append((objective, start))
        return 0.0, start

    monkeypatch.setattr(calibration, "minimise", minimise)
    evidence = Evidence(world.views, world.given)
    evidence.fit("a", UniformNoise(0.1), prior=1.0, learned=(False, False))
    objective, start = seen[0]
    x = start + np.random.default_rng(0).normal(scale=0.1, size=start.size)
    off = check_grad(lambda v: objective(v)[0], lambda v: objective(v)[1], x)
    assert off < 1e-3 * np.linalg.norm(objective(x)[1])


def test_a_matrix_says_the_same_of_classes_apart_and_together():
    rng = np.random.default_rng(0)
    p, labels = rng.dirichlet(np.ones(5), size=20), rng.integers(0, 5, 20)
    noise = ClassNoise(rng.dirichlet(np.ones(5), size=5))
    whole = Views(p[None], 5, (False,))
    apart = np.argsort(rng.random((20, 5)), axis=1)[:, :3].astype(np.int32)
    rest = 1 - np.take_along_axis(p, apart, axis=1).sum(axis=1, keepdims=True)
    values = np.concatenate((np.take_along_axis(p, apart, axis=1), rest), axis=1)
    part = Views(values[None], 5, (False,), apart)
    every, some = noise.chances(whole, labels), noise.chances(part, labels)
    assert some[:, :3] == pytest.approx(np.take_along_axis(every, apart.astype(np.int64), axis=1))
    others = every.sum(axis=1) - some[:, :3].sum(axis=1)
    assert some[:, 3] == pytest.approx(others / 2)  # the mean of the two that do not stand apart
    assert noise.expected_counts(p, whole, labels).sum() == pytest.approx(20)
    assert noise.expected_counts(p, whole, labels).sum(axis=0) == pytest.approx(
        np.bincount(labels, minlength=5)
    )


def test_the_matrix_is_found_by_expectation_maximisation():
    world = World(SKEWED, n=4000)
    evidence = Evidence(world.views, world.given)
    even = uniform_matrix(0.1, len(SKEWED))
    start = 0.5 * SKEWED + 0.5 * np.eye(3)
    noise, _ = by_class._fit_matrix(evidence, (True, True), even, start)
    assert np.abs(noise.matrix - SKEWED).max() < 0.1
    assert np.abs(start - SKEWED).max() > 0.15  # so that this can fail


def test_confusions_that_hardly_occur_are_struck_out():
    counts = np.array([[90.0, 8.0, 2.0], [1.0, 99.0, 0.0], [6.0, 4.0, 190.0]])
    struck = by_class.strike_out(counts / counts.sum(axis=1, keepdims=True), counts)
    assert (struck > 1e-4).tolist() == [
        [True, True, False],
        [False, True, False],
        [False] * 2 + [True],
    ]
    assert struck.sum(axis=1) == pytest.approx(1)


def test_what_fitting_gains_is_that_over_a_matrix_drawn_beforehand():
    from scipy.integrate import quad

    counts = np.array([[7.0, 2.0], [1.0, 9.0]])
    share = counts / counts.sum(axis=1, keepdims=True)
    best = (counts * np.log(share)).sum()
    drawn = [
        quad(lambda e, a=a, b=b: 3 * (1 - e) ** 2 * e**b * (1 - e) ** a, 0, 1)[0]
        for a, b in ((7, 2), (9, 1))
    ]
    assert by_class.gain_by_fitting(counts) == pytest.approx(best - np.log(drawn).sum())


def test_clear_classes_are_likelier_beforehand():
    def views(p):
        return Views(p[None], p.shape[1], (False,))

    sure = np.repeat(np.eye(2), 50, axis=0)
    half = np.repeat([[1.0, 0.0], [0.4, 0.6]], 50, axis=0)
    by_hand = np.log(0.7 * (20 * 20) + 0.3)
    assert log_clearness(sure, views(sure)) == pytest.approx(by_hand)
    by_hand = np.log(0.7 * 20 * 20 * 0.6**19 + 0.3)
    assert log_clearness(half, views(half)) == pytest.approx(by_hand)
    many = Views(sure[None], 40, (False,), np.tile(np.int32([3]), (100, 1)))
    assert log_clearness(sure, many) == pytest.approx(np.log(0.7 * 20 + 0.3))  # all rows together


def test_noise_on_unclear_rows_is_given_no_credit_for_clearness():
    world = World(uniform_matrix(0.2, 3), n=300)
    evidence = Evidence(world.views, world.given)
    fit_none(evidence, 0.4)
    how = {"prior": 0.4, "learned": (False, False)}
    credited = evidence.fit("a", UniformNoise(0.2), **how)
    plain = evidence.fit("b", type("Unclear", (UniformNoise,), {"spares_clear": True})(0.2), **how)
    assert credited.log_prior > plain.log_prior == evidence.fitted[0].log_prior


def test_removing_noise_undoes_it():
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    views = Views(p[None], 3, (False,))
    for noise in (UniformNoise(0.3), ClassNoise(SKEWED)):
        matrix = noise.chances(views.take(np.arange(3)), np.arange(3)).T
        assert matrix.sum(axis=1) == pytest.approx(1)
        assert noise.remove(p @ matrix, views) == pytest.approx(p)


def test_the_confident_matrix_by_hand():
    p = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]])
    # Class 0 is at 0.6 on its own rows, class 1 at 0.8: the third row is surely of class 1.
    matrix = confident_matrix(p, Views(p[None], 2, (False,)), np.array([0, 0, 0, 1]))
    joint = np.array([[2.0, 0.0], [1.0, 1.0]]) + 0.3 * np.eye(2) + 0.01
    assert matrix == pytest.approx(joint / joint.sum(axis=1, keepdims=True))


def test_no_noise_is_fitted_first_and_pays_no_misfit():
    world = World(np.eye(3), n=300)
    evidence = Evidence(world.views, world.given)
    fit_none(evidence, 0.4)
    none = evidence.fitted[0]
    again = evidence.fit("none", none.noise, prior=0.4, learned=none.learned, start=none.parameters)
    assert again.cost == pytest.approx(none.cost + 0.0003 * 300, abs=0.05)
    assert evidence.rates().max() == pytest.approx(0.6)
    two = Evidence(World(np.eye(2), n=50).views, np.zeros(50, dtype=np.int64))
    assert two.rates().max() == pytest.approx(0.45)  # below one half


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0"), (4e-5, "0"), (6e-5, "0.01"), (0.0951, "9.5"), (0.0996, "10"), (0.5, "50")],
)
def test_shares_have_two_digits_or_less(share, text):
    assert percent(share) == text
    assert str(NoiseRate(0.0, 1.0, share)) == f"{text} % (range 0–100 %)"
