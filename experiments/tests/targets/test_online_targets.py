"""Online importance sampling: unbiased through the loop, plans by hand, no leak, loud alarms."""

import logging
import math
from dataclasses import asdict, replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import norm

from oracles_networks import softmax, table

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from dris import Dynamics, ImportanceSampler, InputError, importance  # noqa: E402
from experiments.dris_internals import (  # noqa: E402
    Importance,
    Recipe,
    cosine,
    proportional,
)
from experiments.dris_internals import rank_variance_of as rank_variance  # noqa: E402
from experiments.dris_torch import Network, TensorSource  # noqa: E402
from experiments.recipes import RHO_REFERENCE  # noqa: E402
from experiments.targets import online  # noqa: E402
from experiments.targets import plans as feeds  # noqa: E402
from experiments.targets.online import train_online  # noqa: E402
from experiments.targets.plans import PLANS, Seen, plan_named  # noqa: E402
from experiments.targets.schedules import Drawn  # noqa: E402

CPU = torch.device("cpu")
X, Y = table()
RECIPE = Recipe(epochs=3, batch_size=16, learning_rate=0.1)
SMALL = Recipe(epochs=4, batch_size=4, learning_rate=0.1)
DYNAMICS = Dynamics.from_losses(np.random.default_rng(0).exponential(size=(3, 60)))


def trained(plan="dr_is", model="linear", **how):
    given = {"recipe": RECIPE, "test": (X, Y), "reference": "linear", "reference_recipe": SMALL}
    return train_online(model, X, Y, plan=plan, **{**given, "dynamics": DYNAMICS, **how})


def bytes_of(run):
    return {name: a.tobytes() for name, a in run.weights.items()}


# -- unbiased, through the real sampler and the real loop ----------------------------------------

N, CLASSES, GOES = 8, 3, 600
SMALL_X, SMALL_Y = np.random.default_rng(1).normal(size=(N, 2)), np.arange(N) % CLASSES
SKEWED = importance([0, 1, 2, 4, 8, 16, 32, 64], smoothing=0.1)


class SelfNormalised(Network):
    """The twin Σwℓ/Σw."""

    def _step(self, at, x, step):
        kept = self._weights
        self._weights = kept / kept[at].mean()
        try:
            return super()._step(at, x, step)
        finally:
            self._weights = kept


class WrongWeights(Drawn):
    """The twin that draws by one q and weights by another."""

    @property
    def weights(self):
        return importance(np.arange(N)[::-1], smoothing=0.1).weights.astype(np.float32)


def gradients(kind=Network, schedule=Drawn, plan=SKEWED):
    """What the loop makes of each of many single steps from the same weights."""
    recipe = Recipe(2 * GOES, N, 1.0, momentum=0, weight_decay=0)
    drawn = schedule(plan, np.arange(N), N, N, seed=0)
    source = TensorSource(SMALL_X, CPU, normalize=False)
    network = kind(
        "linear", source, SMALL_Y, CLASSES, recipe, seed=0, stream=("target",), schedule=drawn
    )
    before = network.state()
    flat = np.concatenate([a.ravel() for a in before.values()])
    out = np.empty((GOES, flat.size))
    for go in range(GOES):
        network.restore(before)
        network.train_epoch(go + 1)
        after = np.concatenate([a.ravel() for a in network.state().values()])
        out[go] = (flat - after) / cosine(recipe, go, 2 * GOES)
    return out, before


def full_gradient(before):
    """By hand, over every example once."""
    weight, bias = (before[f"model.head.{n}"].astype(np.float64) for n in ("weight", "bias"))
    error = softmax(SMALL_X @ weight.T + bias) - np.eye(CLASSES)[SMALL_Y]
    return np.concatenate([(error.T @ SMALL_X / N).ravel(), error.mean(axis=0)])


def unbiased(steps, before):
    """z-test of each coordinate's mean; a false alarm among all of them has probability 10^-6."""
    z = (steps.mean(axis=0) - full_gradient(before)) / (steps.std(axis=0) / math.sqrt(GOES))
    return bool(np.abs(z).max() < norm.isf(1e-6 / 2 / steps.shape[1]))


def test_the_weighted_gradient_is_unbiased_and_biased_ones_are_not():
    assert unbiased(*gradients())
    assert not unbiased(*gradients(kind=SelfNormalised))
    assert not unbiased(*gradients(schedule=WrongWeights))
    unweighted = Importance(SKEWED.probabilities, "by hand", {}, 0.0)
    assert not unbiased(*gradients(plan=unweighted))


def test_a_users_loop_resumed_mid_epoch_ends_in_the_weights_of_no_interruption():
    plan = importance(np.arange(60.0))
    x, y = torch.from_numpy(X).float(), torch.from_numpy(Y)

    def run(stop=None):
        sampler, weight = ImportanceSampler(plan, seed=4), torch.zeros(5, 3)
        for step in range(10):
            if step == stop:  # all that survives is the weights and the sampler's state
                state, weight = sampler.state_dict(position=8 * step), weight.clone()
                sampler = ImportanceSampler(plan, seed=4)
                sampler.load_state_dict(state)
                batches = iter(torch.tensor(list(sampler)).split(8))
            elif step == 0:
                batches = iter(torch.tensor(list(sampler)).split(8))
            at = next(batches, None)
            if at is None:
                break
            weight.requires_grad_()
            each = torch.nn.functional.cross_entropy(x[at] @ weight, y[at], reduction="none")
            (sampler.weights[at] * each).mean().backward()
            weight = (weight - 0.1 * weight.grad).detach()
        return weight

    assert torch.equal(run(), run(stop=3))
    assert not torch.equal(run(), torch.zeros(5, 3))


# -- plans by hand -------------------------------------------------------------------------------


def initial():
    """The target before its first step, measured by hand: (loss, gradient norm)."""
    network = Network("fc", TensorSource(X, CPU), Y, 3, RECIPE, seed=0, stream=("target",))
    logits, features = network.measure(np.arange(60), hidden=True)
    p = softmax(logits.astype(np.float64))
    error = p - np.eye(3)[Y]
    lengths = np.sqrt(1 + (features.astype(np.float64) ** 2).sum(axis=1))
    return -np.log(p[np.arange(60), Y]), np.linalg.norm(error, axis=1) * lengths


@pytest.mark.parametrize(("plan", "which"), [("loss_is", 0), ("standard_is", 1)])
def test_a_plan_on_the_target_starts_from_the_initial_network(plan, which):
    score = initial()[which]
    q = score / score.sum()
    sampled = trained(plan, model="fc").log[0].sampled
    assert sampled.concentration_size == pytest.approx(1 / (q**2).sum(), rel=1e-5)
    assert sampled.largest_weight == pytest.approx((1 / (60 * q)).max(), rel=1e-5)
    assert sampled.effective_size == pytest.approx(60**3 / (1 / q).sum(), rel=1e-5)


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        ("uniform", np.full(60, 1 / 60)),
        ("dr_is", importance(rank_variance(DYNAMICS), smoothing=0.1).probabilities),
        ("uniform_hybrid", importance(rank_variance(DYNAMICS), smoothing=1.0).probabilities),
    ],
)
def test_frozen_plans_draw_from_the_proxies_disagreement(plan, wanted):
    flagged = np.arange(60) < 7
    for line in trained(plan, flagged=flagged).log:
        assert line.sampled.flagged_mass == pytest.approx(wanted[:7].sum())
        assert line.sampled.concentration_size == pytest.approx(1 / (wanted**2).sum())
        assert line.sampled.unbiased
        assert 0 < line.distinct < 60


def test_a_plan_of_ones_own_is_the_named_one():
    mine = trained(importance(rank_variance(DYNAMICS), smoothing=0.1), dynamics=None)
    named = trained("dr_is")
    assert bytes_of(mine) == bytes_of(named)
    assert mine.log == named.log


def test_the_two_exponents_and_clipping_differ_and_are_reported():
    runs = {
        "unbiased": trained("dr_is"),
        "unweighted": trained("dr_is", weight_exponent=0),
        "clipped": trained("dr_is", weight_clip=2.0),
    }
    assert len({tuple(sorted(bytes_of(r).items())) for r in runs.values()}) == 3
    first = {name: run.log[0].sampled for name, run in runs.items()}
    assert first["unbiased"].largest_weight > 2
    assert (first["unweighted"].largest_weight, first["clipped"].largest_weight) == (1, 2)
    assert [s.unbiased for s in first.values()] == [True, False, False]
    assert [s.clipped > 0 for s in first.values()] == [False, False, True]
    assert [r.how["weight_exponent"] for r in runs.values()] == [1, 0, 1]
    assert [r.how["weight_clip"] for r in runs.values()] == [None, None, 2]
    # Uniform draws weigh 1 whatever the exponent.
    assert bytes_of(trained("uniform")) == bytes_of(trained("uniform", weight_exponent=0))


def test_the_same_steps_for_every_plan(monkeypatch):
    seen, step = [], Network._step

    def spy(network, at, x, number):
        if network._stream == ("target",):
            seen.append(len(at))
        return step(network, at, x, number)

    monkeypatch.setattr(Network, "_step", spy)
    for plan in PLANS:
        seen.clear()
        trained(plan)
        assert seen == [15] * 12


# -- when plans look again -----------------------------------------------------------------------


def looks(monkeypatch, plan, epochs, **how):
    """The epochs before which the target was measured."""
    epoch, seen, measure, at = [0], [], feeds.losses_of, feeds.Online.at

    def counting(feed, number, engine):
        epoch[0] = number
        return at(feed, number, engine)

    monkeypatch.setattr(feeds.Online, "at", counting)
    monkeypatch.setattr(
        feeds, "losses_of", lambda *a, **k: (seen.append(epoch[0]), measure(*a, **k))[1]
    )
    run = trained(plan, recipe=Recipe(epochs, 16, 0.1), **how)
    return seen, run


@pytest.mark.parametrize(
    ("plan", "how", "wanted", "every"),
    [
        ("loss_is", {}, [1, 2, 3, 4, 5, 6, 7], 1),
        ("standard_is", {"refresh": 3}, [1, 4, 7], 3),
        ("rho_faithful", {}, [1, 6], 5),
        ("rho_approximate", {}, [], None),
        ("dr_is", {}, [], None),
    ],
)
def test_plans_look_at_the_target_when_they_say(monkeypatch, plan, how, wanted, every):
    seen, run = looks(monkeypatch, plan, 7, **how)
    assert seen == wanted
    assert run.how["refresh"] == every
    sizes = [line.sampled.concentration_size for line in run.log]
    changes = [e + 1 for e in range(1, 7) if sizes[e] != sizes[e - 1]]
    assert changes == wanted[1:]


# -- RHO-LOSS ------------------------------------------------------------------------------------


def holdout_is_kept_apart(monkeypatch, plan, **how):
    """Whether reference and target share no example, and each sees its own."""
    seen, step = {"target": set(), "reference": set()}, Network._step

    def spy(network, at, x, number):
        seen[network._stream[0]].update(at.tolist())
        return step(network, at, x, number)

    monkeypatch.setattr(Network, "_step", spy)
    run = trained(plan, **how)
    assert len(seen["reference"]) == run.how["holdout"]
    return run, not seen["target"] & seen["reference"]


@pytest.mark.parametrize("plan", ["rho_approximate", "rho_faithful"])
@pytest.mark.parametrize(("holdout", "size"), [(None, 6), (20, 20)])
def test_the_target_never_trains_on_the_holdout(monkeypatch, plan, holdout, size):
    run, apart = holdout_is_kept_apart(monkeypatch, plan, holdout=holdout)
    assert apart
    assert run.how["holdout"] == size
    assert all(line.sampled.support <= 60 - size for line in run.log)
    assert not any(line.sampled.unbiased for line in run.log)


def test_the_leak_test_sees_a_leak(monkeypatch):
    monkeypatch.setattr(online, "_leave_out", lambda held, n: np.arange(n))
    _, apart = holdout_is_kept_apart(monkeypatch, "rho_faithful", holdout=20)
    assert not apart


def test_the_reference_is_the_papers_unless_given():
    assert asdict(RHO_REFERENCE)["epochs"] == 30
    assert online.HOLDOUT == 5000
    assert PLANS["rho_faithful"].refresh == 5
    run = trained("rho_faithful")
    assert run.how["reference"]["model"] == "linear"
    assert run.how["reference"]["recipe"]["epochs"] == 4


def test_scores_of_rho_are_target_or_proxy_less_reference_and_never_negative():
    seen = Seen(
        3,
        proxy_loss=np.array([1.0, 2.0, 5.0]),
        reference_loss=np.array([2.0, 1.0, 2.0]),
        target=lambda: (np.array([4.0, 0.0, 4.0]), None),
    )
    assert plan_named("rho_approximate").build(seen, 1.0).probabilities.tolist() == [0, 0.25, 0.75]
    assert plan_named("rho_faithful").build(seen, 1.0).probabilities.tolist() == [0.5, 0, 0.5]
    assert not plan_named("rho_faithful").build(seen, 1.0).unbiased


def test_the_reference_is_trained_once_for_both_exponents(tmp_path, monkeypatch):
    count, step = [0], Network._step

    def spy(network, at, x, number):
        count[0] += network._stream == ("reference",)
        return step(network, at, x, number)

    monkeypatch.setattr(Network, "_step", spy)
    for exponent in (1, 0):
        run = trained("rho_faithful", weight_exponent=exponent, store=tmp_path)
        assert count[0] == 4 * 2
    alone = trained("rho_faithful", weight_exponent=0)
    assert bytes_of(run) == bytes_of(alone)


def test_a_reference_that_diverged_is_a_collapse_not_a_crash():
    run = trained("rho_faithful", reference="fc", reference_recipe=Recipe(2, 4, 1e30))
    assert run.status == "finished"
    assert "must be finite" in run.log[0].sampled.collapsed


# -- alarms, collapse, divergence ----------------------------------------------------------------


def alarms(caplog):
    return [r for r in caplog.records if r.name == "dris.learn" and "collapsed" in r.getMessage()]


def test_a_collapsed_sampler_alarms_once_in_the_log_and_in_every_line(caplog):
    few = np.full(60, 1e-4)
    few[3] = 10.0
    run = trained(proportional(few), recipe=Recipe(3, 16, 0.001))
    assert all(line.sampled.alarm for line in run.log)
    (told,) = alarms(caplog)
    assert told.levelno == logging.WARNING
    assert run.how["alarm_below"] == 0.025 * 60


@pytest.mark.parametrize("plan", ["uniform", "dr_is"])
def test_a_healthy_sampler_does_not_alarm(plan, caplog):
    run = trained(plan)
    assert not any(line.sampled.alarm for line in run.log)
    assert alarms(caplog) == []


def test_a_plan_that_cannot_be_built_draws_uniformly_and_says_so(caplog):
    agreeing = Dynamics.from_losses(np.tile(np.arange(60.0), (3, 1)))
    run = trained("dr_is", dynamics=agreeing)
    assert run.status == "finished"
    assert "the score is 0 for all 60 examples" in run.log[0].sampled.collapsed
    assert "cannot be built at epoch 1" in caplog.text
    assert bytes_of(run) == bytes_of(trained("uniform"))
    assert trained("uniform").log[0].sampled.collapsed is None


def test_without_a_rescue_a_plan_that_cannot_be_built_ends_the_run(caplog, tmp_path):
    agreeing = Dynamics.from_losses(np.tile(np.arange(60.0), (3, 1)))
    run = trained("dr_is", dynamics=agreeing, rescue=False, store=tmp_path)
    assert (run.status, run.broke, run.log, run.imputed) == ("collapsed", (1, None), (), True)
    assert (
        "target collapsed at epoch 1: dr_is cannot be built: cannot tell: the score is 0"
        in caplog.text
    )
    again = trained("dr_is", dynamics=agreeing, rescue=False, store=tmp_path)
    assert again.record() == run.record()
    assert trained("dr_is", dynamics=agreeing, store=tmp_path).status == "finished"


def test_a_run_that_collapses_later_is_measured_after_its_last_whole_epoch():
    built, losses = [], PLANS["loss_is"]

    def twice(seen, exponent):
        built.append(1)
        if len(built) > 2:
            raise InputError("the score must be finite")
        return losses.build(seen, exponent)

    with patch.dict(PLANS, {"loss_is": replace(losses, build=twice, refresh=1)}):
        run = trained("loss_is", recipe=Recipe(4, 16, 0.01), rescue=False)
    assert (run.status, run.broke, len(run.log)) == ("collapsed", (3, None), 2)
    assert run.accuracy == run.log[-1].test_accuracy
    assert not run.imputed


# -- the door ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"plan": "nonsense"}, "plan must be one of uniform, dr_is, .* got 'nonsense'"),
        ({"plan": 3}, "plan must be one of"),
        ({"plan": importance([0.0, 1.0])}, "the plan is for 2 examples, here are 60"),
        ({"plan": importance(np.arange(60.0)), "weight_exponent": 0}, "exponent of its own"),
        ({"weight_exponent": 2}, r"weight_exponent must be in \[0, 1\], got 2"),
        ({"weight_clip": 0}, "weight_clip must be above 0"),
        ({"refresh": 5}, "dr_is is a frozen plan"),
        ({"plan": "loss_is", "refresh": 0}, "refresh must be at least 1"),
        ({"dynamics": None}, r"dr_is reads the proxies; pass dynamics="),
        ({"dynamics": Dynamics.from_losses(np.eye(3))}, "of 3 examples, here are 60"),
        ({"dynamics": Dynamics.from_losses(np.ones((1, 60)))}, "at least 2 proxies"),
        ({"dynamics": Dynamics.from_logits(np.zeros((2, 60, 3)), (Y + 1) % 3)}, "other labels"),
        ({"plan": "rho_faithful", "holdout": 60}, "holdout must leave examples"),
        ({"plan": "rho_faithful", "holdout": 0}, "holdout must be at least 1"),
        ({"plan": "rho_faithful", "reference": "sgd_log"}, "weighted draws train networks"),
        ({"model": "sgd_log"}, "weighted draws train networks"),
        ({"flagged": np.zeros(60)}, "flagged must be a boolean mask"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(how, says):
    with pytest.raises(InputError, match=says) as refused:
        trained(**how)
    assert "\n" not in str(refused.value)
