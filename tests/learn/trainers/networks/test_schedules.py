"""What an epoch of a proxy trains on."""

from math import ceil

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dris.learn.trainers.trainer import Passes


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(1, 20))
def test_passes_show_every_row_once_in_equal_or_in_full_batches(n, batch):
    rows = np.arange(n) * 2
    for equal in (True, False):
        passes = Passes(rows, batch, 0, ("x",), equal=equal)
        sizes = [len(b) for b in passes.batches(1)]
        assert sorted(np.concatenate(passes.batches(1)).tolist()) == rows.tolist()
        assert len(sizes) == passes.steps == ceil(n / batch)
        assert max(sizes) - min(sizes) <= 1 if equal else set(sizes[:-1]) <= {batch}
