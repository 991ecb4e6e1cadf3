"""The sampler: one process or many, whole or resumed, the draws are the same and follow q."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')

from scipy.stats import norm  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

import dris  # noqa: E402
from dris.core.errors import InputError  # noqa: E402
from dris.core.select.importance import (  # noqa: E402
    Importance,
    draw,
    proportional,
)
from dris.core.streams import rng_for  # noqa: E402
from dris.learn.trainers.networks.samplers import ImportanceSampler, WeightedDataset  # noqa: E402
from oracles_choosing import TAIL, follows  # noqa: E402


def plan_of(n=10, *, seed=0, exponent=1.0, smoothing=0.1):
    score = np.random.default_rng(seed).exponential(size=n)
    return dris.importance(score, smoothing=smoothing, weight_exponent=exponent)


def by_hand(*q):
    return Importance(np.array(q), "by hand", {})


def test_the_exponent_of_the_plan_tempers_the_weights():
    def weights(exponent):
        return ImportanceSampler(plan_of(exponent=exponent), num_samples=4).weights

    assert torch.allclose(weights(0.5), weights(1.0).sqrt())
    assert weights(0.0).tolist() == [1.0] * 10


def test_an_epoch_is_drawn_from_seed_and_epoch_alone():
    plan = plan_of(50)
    sampler, same = ImportanceSampler(plan, seed=3), ImportanceSampler(plan, seed=3)
    same.set_epoch(7)
    list(sampler)
    sampler.set_epoch(7)
    assert list(sampler) == list(same) == sampler.draws(7).tolist()
    assert (
        sampler.draws(7).tolist()
        == draw(plan.probabilities, 50, rng=rng_for(3, "importance", 7)).tolist()
    )
    assert ImportanceSampler(plan, seed=4).draws(7).tolist() != same.draws(7).tolist()


def test_every_iteration_is_a_new_epoch_unless_one_is_set():
    sampler = ImportanceSampler(plan_of(50))
    epochs = [sampler.draws(e).tolist() for e in range(4)]
    assert [list(sampler), list(sampler)] == epochs[:2]
    sampler.set_epoch(1)
    assert [list(sampler), list(sampler)] == epochs[1:3]
    assert sampler.epoch == 3


@pytest.mark.parametrize("n", [1, 2, 7, 10, 64])
@pytest.mark.parametrize("world_size", [1, 2, 3, 8, 11])
def test_the_ranks_together_hold_the_draws_of_one_process_and_padding(n, world_size):
    def sampler(**ranks):
        return ImportanceSampler(plan_of(80), num_samples=n, **ranks)

    alone = list(sampler())
    ranks = [list(sampler(rank=r, world_size=world_size)) for r in range(world_size)]
    assert {len(r) for r in ranks} == {math.ceil(n / world_size)}
    assert len(sampler(rank=0, world_size=world_size)) == len(ranks[0])
    together = [index for step in zip(*ranks, strict=True) for index in step]
    assert together[:n] == alone
    assert all(0 <= index < 80 for index in together[n:])


def test_padding_follows_q_and_does_not_repeat_the_first_draws():
    q = np.array([0.1, 0.2, 0.3, 0.4])
    sampler = ImportanceSampler(by_hand(*q), num_samples=1, rank=3999, world_size=4000)
    padding = [int(sampler.draws(epoch)[0]) for epoch in range(600)]
    assert follows(np.bincount(padding, minlength=4), q, cells=8)
    first = ImportanceSampler(by_hand(*q), num_samples=1)
    assert padding != [int(first.draws(epoch)[0]) for epoch in range(600)]


def resumed(state, **arguments):
    sampler = ImportanceSampler(plan_of(50), **arguments)
    sampler.load_state_dict(json.loads(json.dumps(state)))
    return sampler


@pytest.mark.parametrize(
    "arguments", [{}, {"rank": 1, "world_size": 3}, {"num_samples": 20, "seed": 5}]
)
@pytest.mark.parametrize("used", [0, 1, 9])
def test_a_resumed_epoch_yields_the_same_remainder(arguments, used):
    sampler = ImportanceSampler(plan_of(50), **arguments)
    sampler.set_epoch(4)
    running = iter(sampler)
    for _ in range(used):
        next(running)
    again = resumed(sampler.state_dict(), **arguments)
    again.set_epoch(4)  # what the training loop says first changes nothing
    remainder = sampler.draws(4)[used:].tolist()
    assert list(running) == list(again) == remainder
    assert list(again) == list(sampler) == sampler.draws(5).tolist()


def test_a_state_after_the_last_index_goes_on_with_the_next_epoch():
    sampler = ImportanceSampler(plan_of(50))
    running = iter(sampler)
    for _ in range(50):
        next(running)
    state = sampler.state_dict()
    assert (state["epoch"], state["position"]) == (1, 0)
    assert sampler.state_dict() == sampler.state_dict(position=50)
    assert list(resumed(state)) == sampler.draws(1).tolist()


def test_what_workers_fetched_ahead_can_be_told_apart_from_what_was_used():
    sampler = ImportanceSampler(plan_of(50))
    data = WeightedDataset(TensorDataset(torch.arange(50), torch.zeros(50)), sampler)
    loader = DataLoader(data, batch_size=4, sampler=sampler, num_workers=1)
    used = next(iter(loader))[0].tolist()
    assert sampler.state_dict()["position"] > 4  # the check would be empty without fetching ahead
    again = resumed(sampler.state_dict(position=4))
    assert used + list(again) == sampler.draws(0).tolist()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"plan": plan_of(50, seed=1)}, "another plan"),
        ({"plan": plan_of(50, exponent=0.5)}, "another plan"),
        ({"seed": 1}, "another seed"),
        ({"num_samples": 49}, "another num_samples"),
        ({"world_size": 2}, "another world_size"),
    ],
)
def test_a_state_of_another_sampler_is_refused(change, says):
    other = ImportanceSampler(**{"plan": plan_of(50), **change}).state_dict()
    with pytest.raises(InputError, match=says):
        ImportanceSampler(plan_of(50)).load_state_dict(other)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"position": 51}, "position must be at most 50, got 51"),
        ({"epoch": "1"}, "epoch must be a whole number"),
        ({"format": 2}, "another format"),
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(change, says):
    sampler = ImportanceSampler(plan_of(50))
    before = sampler.state_dict()
    with pytest.raises(InputError, match=says):
        sampler.load_state_dict({**before, **change})
    incomplete = {name: value for name, value in before.items() if name != "epoch"}
    with pytest.raises(InputError, match="not whole"):
        sampler.load_state_dict(incomplete)
    assert sampler.state_dict() == before


def off_by(sampler, weights, goes=400) -> float:
    """Standard errors between the mean of f over all examples and that of w·f over draws.

    Each go is the last eight draws of an epoch, padding included.
    """
    f = np.random.default_rng(9).normal(2, 1, 40) / sampler.plan.probabilities**0.5
    means = np.array([np.mean((weights * f)[sampler.draws(e)[-8:]]) for e in range(goes)])
    return abs(means.mean() - f.mean()) / (means.std(ddof=1) / math.sqrt(goes))


LIMIT = norm.isf(TAIL / 2)


@pytest.mark.parametrize("world", [{}, {"rank": 2, "world_size": 3}])
def test_the_mean_of_weighted_draws_is_unbiased(world):
    plan = plan_of(40)
    sampler = ImportanceSampler(plan, **world)
    assert off_by(sampler, sampler.weights.numpy()) < LIMIT
    assert off_by(sampler, np.ones(40)) > LIMIT
    wrong = np.roll(sampler.weights.numpy(), 1)  # the weights of another q
    assert off_by(sampler, wrong) > LIMIT


@pytest.mark.parametrize("workers", [0, 2])
def test_a_data_loader_yields_examples_with_their_weights(workers):
    plan = plan_of(20)
    sampler = ImportanceSampler(plan, num_samples=30)
    data = TensorDataset(torch.arange(20) * 10, torch.arange(20))
    loader = DataLoader(
        WeightedDataset(data, sampler), batch_size=8, sampler=sampler, num_workers=workers
    )
    for epoch in range(2):
        batches = list(loader)
        assert [len(y) for _, y, _ in batches] == [8, 8, 8, 6]
        x, y, w = (torch.cat(parts) for parts in zip(*batches, strict=True))
        assert y.tolist() == sampler.draws(epoch).tolist()
        assert (x == 10 * y).all()
        assert w.dtype == torch.float32
        assert w.numpy() == pytest.approx(plan.weights[y.numpy()])


def test_a_sampler_survives_pickling_and_copying_mid_epoch():
    sampler = ImportanceSampler(plan_of(50), seed=2)
    running = iter(sampler)
    next(running)
    for other in (pickle.loads(pickle.dumps(sampler)), copy.deepcopy(sampler)):
        assert other.state_dict() == sampler.state_dict()
        assert torch.equal(other.weights, sampler.weights)
        assert list(other) == sampler.draws(1).tolist()
    data = WeightedDataset([(i, -i) for i in range(50)], sampler)
    assert pickle.loads(pickle.dumps(data))[3] == (3, -3, sampler.weights[3])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: ImportanceSampler([0.5, 0.5]), "plan must be an Importance, got list"),
        (lambda: ImportanceSampler(), "pass either a plan"),
        (lambda: ImportanceSampler(plan_of(), weights=[1.0]), "pass either a plan"),
        (lambda: ImportanceSampler(weights=[1.0, -1.0]), "must be"),
        (lambda: ImportanceSampler(plan_of(), seed=-1), "seed must be at least 0"),
        (lambda: ImportanceSampler(plan_of(), num_samples=0), "num_samples must be at least 1"),
        (lambda: ImportanceSampler(plan_of(), world_size=0), "world_size must be at least 1"),
        (
            lambda: ImportanceSampler(plan_of(), rank=2, world_size=2),
            "rank must be below world_size = 2, got 2",
        ),
        (lambda: ImportanceSampler(by_hand(1e-40, 1.0)), "past the largest float32"),
        (lambda: ImportanceSampler(plan_of()).set_epoch(-1), "epoch must be at least 0"),
        (lambda: ImportanceSampler(plan_of()).state_dict(position=11), "position must be at most"),
        (lambda: WeightedDataset([(1, 2)], plan_of(1)), "sampler must be an ImportanceSampler"),
        (
            lambda: WeightedDataset([(1, 2)], ImportanceSampler(plan_of())),
            "the data set has 1 examples and the plan 10",
        ),
        (
            lambda: WeightedDataset(iter([(1, 2)]), ImportanceSampler(plan_of())),
            "dataset must be map-style",
        ),
        (
            lambda: WeightedDataset([{"x": 1}] * 10, ImportanceSampler(plan_of()))[0],
            "must be (x, y), got dict",
        ),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(call, says):
    with pytest.raises(InputError) as caught:
        call()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_any_vector_of_weights_draws_in_proportion(kind):
    sampler = ImportanceSampler(weights=kind([0.0, 1.0, 3.0]), seed=0, num_samples=40_000)
    share = np.bincount(sampler.draws(0), minlength=3) / 40_000
    # Six standard deviations of a share of 3/4 are 0.013; outside with probability 2e-9.
    assert share == pytest.approx([0, 0.25, 0.75], abs=0.013)
    plan = ImportanceSampler(proportional([0.0, 1.0, 3.0]), seed=0, num_samples=40_000)
    assert (plan.draws(0) == sampler.draws(0)).all()
