import numpy as np
import pytest

from dris import InputError, importance
from experiments.kinds.hinge import (
    HingeRecipe,
    by_plan,
    descend,
    gradient_norms,
    in_passes,
    losses,
    margins,
    slopes,
)


def problem(n=60, d=4, *, runs=1, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((runs, n, d))
    return x, np.where(x[..., 0] + 0.5 * rng.standard_normal((runs, n)) > 0, 1.0, -1.0)


def mean_gradient(w, x, sign):
    return (slopes(margins(w[None], x, sign))[0] * sign[0]) @ x[0] / x.shape[1]


def test_one_step_worked_by_hand():
    # w = 0, margin 0, slope -2: w moves by 0.01·2·1·(3, 4), and 2·25·0.01 = 0.5 stays unclamped.
    visits = in_passes([np.array([0])], 1, [0])
    recipe = HingeRecipe(epochs=1)
    w = descend(np.array([[[3.0, 4.0]]]), np.ones((1, 1)), visits, recipe=recipe)
    assert w[0] == pytest.approx([0.06, 0.08])


def test_the_clamp_stops_a_long_example_at_margin_1_where_no_clamp_overshoots():
    x = np.array([[[60.0, 80.0]]])
    visits = in_passes([np.array([0])], 1, [0])
    w = descend(x, np.ones((1, 1)), visits, recipe=HingeRecipe(epochs=1))
    assert 0.99 < margins(w, x, np.ones((1, 1)))[0, 0] <= 1
    assert (0.01 * 2 * x[0, 0] @ x[0, 0]) > 1  # the twin: an unclamped step lands at margin 200


def test_the_clamp_counts_the_weight_of_a_draw():
    x, sign = np.array([[[3.0, 4.0]]]), np.ones((1, 1))
    w = descend(x, sign, lambda e, w: (np.zeros((1, 1), int), np.full((1, 1), 50.0)),
                recipe=HingeRecipe(epochs=1))  # fmt: skip
    assert 0.99 < margins(w, x, sign)[0, 0] <= 1


@pytest.mark.parametrize(("slope", "agrees"), [(slopes, True), (lambda m: slopes(m) / 2, False)])
def test_slopes_are_the_finite_differences_of_the_loss_and_half_of_them_are_not(slope, agrees):
    m = np.array([-3.0, -0.2, 0.7, 1.5])
    numeric = (losses(m + 1e-6) - losses(m - 1e-6)) / 2e-6
    assert np.allclose(slope(m), numeric, atol=1e-6) is agrees


def test_gradient_norms_are_those_of_finite_differences_over_every_weight():
    x, sign = problem(8)
    w = np.random.default_rng(1).standard_normal((1, 4))
    steps = 1e-6 * np.eye(4)
    gradient = np.stack(
        [
            (losses(margins(w + h, x, sign)) - losses(margins(w - h, x, sign)))[0] / 2e-6
            for h in steps
        ]
    )
    assert gradient_norms(w, x, sign)[0] == pytest.approx(np.linalg.norm(gradient, axis=0), 1e-5)


def optimum(x, sign, lam):
    from sklearn.svm import LinearSVC

    n = x.shape[1]
    # LinearSVC minimises ‖w‖²/2 + C·Σℓ: ours divided by λ, so that C = 1/(λN).
    svc = LinearSVC(loss="squared_hinge", C=1 / (lam * n), fit_intercept=False, tol=1e-8,
                    max_iter=100_000)  # fmt: skip
    return svc.fit(x[0], sign[0]).coef_[0]


def test_descent_reaches_the_optimum_of_liblinear_and_not_that_of_another_regularisation():
    x, sign = problem(400)
    visits = in_passes([np.arange(400)], 400, [0])
    w = descend(x, sign, visits, recipe=HingeRecipe(epochs=60))[0]
    right, wrong = optimum(x, sign, 0.1), optimum(x, sign, 0.5)
    assert np.linalg.norm(w - right) < 0.02 * np.linalg.norm(right)
    assert np.linalg.norm(w - wrong) > 0.1 * np.linalg.norm(wrong)


def test_runs_do_not_touch_each_other():
    x, sign = problem(30, runs=3)
    subsets, seeds, recipe = [np.arange(30)] * 3, [5, 6, 7], HingeRecipe(epochs=3)
    together = descend(x, sign, in_passes(subsets, 30, seeds), recipe=recipe)
    for r in range(3):
        alone = descend(x[r : r + 1], sign[r : r + 1], in_passes(subsets[:1], 30, seeds[r : r + 1]),
                        recipe=recipe)  # fmt: skip
        assert together[r] == pytest.approx(alone[0], rel=1e-12)


@pytest.mark.parametrize(("exponent", "unbiased"), [(1.0, True), (0.0, False)])
def test_weighted_draws_estimate_the_mean_gradient_and_unweighted_ones_do_not(exponent, unbiased):
    x, sign = problem(40)
    w = np.array([0.3, -0.2, 0.1, 0.0])
    plan = importance(gradient_norms(w[None], x, sign)[0], smoothing=0.1, weight_exponent=exponent)
    at, count = by_plan(lambda weights: [plan], 200_000, [3])(0, w[None])
    drawn = count[0][:, None] * (slopes(margins(w[None], x, sign))[0] * sign[0])[at[0], None]
    drawn = drawn * x[0][at[0]]
    error = drawn.mean(axis=0) - mean_gradient(w, x, sign)
    # Five standard errors in each of 4 coordinates: exceeded with probability below 3e-6.
    inside = np.abs(error) < 5 * drawn.std(axis=0) / np.sqrt(len(drawn))
    assert inside.all() == unbiased


def test_passes_keep_step_parity_and_visit_every_kept_example_alike():
    kept = np.array([2, 5, 7])
    at, count = in_passes([kept], 12, [0])(0, np.zeros((1, 1)))
    assert np.bincount(at[0], minlength=8)[kept].tolist() == [4, 4, 4]
    assert (count == 1).all()


def test_plans_are_asked_for_at_the_start_of_every_epoch_with_the_weights_so_far():
    x, sign = problem(20)
    asked = []

    def plans(weights):
        asked.append(weights.copy())
        return [importance(np.ones(20), smoothing=0.1)]

    descend(x, sign, by_plan(plans, 20, [0]), recipe=HingeRecipe(epochs=3))
    assert len(asked) == 3
    assert (asked[0] == 0).all()
    assert not (asked[1] == asked[2]).all()


@pytest.mark.parametrize(
    ("x", "sign", "message"),
    [
        (np.ones((3, 2)), np.ones((3,)), r"x must be \(run, example, feature\)"),
        (np.ones((1, 3, 2)), np.ones((1, 2)), r"got \(1, 3, 2\) and \(1, 2\)"),
        (np.ones((1, 2, 2)), np.array([[0.0, 1.0]]), "sign must be -1 or 1 everywhere"),
    ],
)
def test_bad_inputs_are_named(x, sign, message):
    with pytest.raises(InputError, match=message):
        descend(x, sign, in_passes([np.arange(2)], 2, [0]), recipe=HingeRecipe(epochs=1))
