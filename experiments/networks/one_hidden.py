"""Two more simple networks, so that an ensemble on MNIST can have four of a kind."""

from torch import nn

from experiments.dris_torch import fully_connected


def one_hidden_narrow(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """One hidden layer of 32 ReLUs.

    >>> one_hidden_narrow((20,), 2).head.in_features
    32
    """
    return fully_connected(input_shape, classes, hidden=(32,))


def one_hidden_wide(input_shape: tuple[int, ...], classes: int) -> nn.Module:
    """One hidden layer of 128 ReLUs.

    >>> one_hidden_wide((20,), 2).head.in_features
    128
    """
    return fully_connected(input_shape, classes, hidden=(128,))
