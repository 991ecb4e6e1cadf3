"""What an epoch trains on: step parity against the plain walk, and draws in batches."""

import itertools
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dris import importance
from experiments.dris_internals import proportional, rng_for
from experiments.targets.schedules import Drawn, StepParity


def walked(indices, total, batch, epochs, seed):
    """The oracle: walk pass after pass, keep what is in the subset, cut when a batch is full."""
    kept, waiting, steps = set(indices), [], []
    wanted, passes = epochs * ceil(total / batch), itertools.count()
    while len(steps) < wanted:
        order = rng_for(seed, "target", "pass", next(passes)).permutation(total)
        waiting += [i for i in order.tolist() if i in kept]
        while len(waiting) >= batch and len(steps) < wanted:
            steps.append(waiting[:batch])
            waiting = waiting[batch:]
    return steps


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 25), st.integers(1, 30), st.integers(1, 4), st.data())
def test_every_epoch_of_step_parity_is_its_piece_of_the_endless_walk(n, batch, epochs, data):
    kept = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1)))
    parity = StepParity(np.array(kept), n, batch, seed=1)
    # Any order of asking: a resumed run asks for a late epoch first.
    pieces = {e: parity.batches(e) for e in reversed(range(1, epochs + 1))}
    result = [b.tolist() for e in range(1, epochs + 1) for b in pieces[e]]
    assert result == walked(kept, n, batch, epochs, seed=1)


# -- draws (they come from the torch sampler) ----------------------------------------------------


@pytest.mark.parametrize(("n", "batch"), [(10, 3), (7, 7), (5, 8), (129, 128)])
def test_an_epoch_is_as_many_draws_as_examples_in_nearly_equal_batches(n, batch):
    pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')
    pool = np.arange(n)[: n - 2]  # two are held out: N draws all the same
    drawn = Drawn(proportional(np.arange(1.0, n - 1)), pool, n, batch, seed=0)
    sizes = [len(b) for b in drawn.batches(1)]
    assert sum(sizes) == n
    assert len(sizes) == drawn.steps == ceil(n / batch)
    assert max(sizes) - min(sizes) <= 1
    assert set(np.concatenate(drawn.batches(1)).tolist()) <= set(pool.tolist())
    assert drawn.weights[n - 2 :].tolist() == [0.0, 0.0]


def test_clipping_cuts_weights_and_says_how_many_draws_it_touches():
    pytest.importorskip("torch", reason='torch is missing: pip install "dris[torch]"')
    plan = importance([0.0, 1.0, 2.0], smoothing=1.0)  # q = 1/6, 1/3, 1/2 and w = 2, 1, 2/3
    free = Drawn(plan, np.arange(3), 3, 2, 0)
    cut = Drawn(plan, np.arange(3), 3, 2, 0, clip=1.5)
    assert free.weights.tolist() == pytest.approx([2, 1, 2 / 3])
    assert cut.weights.tolist() == pytest.approx([1.5, 1, 2 / 3])
    assert (free.clipped, cut.clipped) == (0, pytest.approx(1 / 6))
