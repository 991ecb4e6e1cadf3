"""Networks in tests train in one thread."""

from importlib.util import find_spec

import pytest


@pytest.fixture(autouse=True)
def one_thread():
    """Two OpenMP threads per test process are slower than one on a busy machine."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
