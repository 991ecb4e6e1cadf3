"""Fully connected networks: no BatchNorm, no dropout, nothing in place, so torch.func works."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from torch import nn

from dris.core.errors import InputError
from dris.learn.trainers.networks.models.base import Classifier


def linear(input_shape: tuple[int, ...], classes: int) -> Classifier:
    """Multinomial logistic regression: the features are the flattened input.

    7,850 parameters, 7,840 multiply-adds on 1×28×28 with 10 classes.

    >>> linear((20,), 2).head
    Linear(in_features=20, out_features=2, bias=True)
    """
    return Classifier(nn.Flatten(), nn.Linear(prod(input_shape), classes))


def fully_connected(
    input_shape: tuple[int, ...], classes: int, *, hidden: Sequence[int] = (256, 128)
) -> Classifier:
    """A multilayer perceptron with ReLUs; `partial(fully_connected, hidden=(512,))` is a wider one.

    No hidden widths make it `linear`.
    235,146 parameters, 234,752 multiply-adds on 1×28×28 with 10 classes.

    >>> fully_connected((20,), 2, hidden=(64,)).head
    Linear(in_features=64, out_features=2, bias=True)
    """
    if any(width < 1 for width in hidden):
        raise InputError(f"hidden widths must be 1 or more, got {tuple(hidden)}")
    widths = (prod(input_shape), *hidden)
    layers: list[nn.Module] = [nn.Flatten()]
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return Classifier(nn.Sequential(*layers), nn.Linear(widths[-1], classes))
