"""How large a model is: parameters, and what one forward pass computes and writes."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def count_parameters(model: nn.Module) -> int:
    """The number of weights, each shared one counted once.

    >>> count_parameters(nn.Linear(4, 3))
    15
    """
    return sum(p.numel() for p in model.parameters())


def multiply_adds(model: nn.Module, input_shape: tuple[int, ...]) -> int:
    """Multiply-adds of one example's forward pass, in `Conv2d` and `Linear` layers only.

    Biases, normalisation and activations are left out, as in published counts; so is what a
    model computes without these two kinds of layer. The model is left as it was.

    >>> multiply_adds(nn.Linear(4, 3), (4,))
    12
    """

    def products(layer: nn.Module, output: Tensor) -> int:
        if not isinstance(layer, nn.Conv2d | nn.Linear):
            return 0
        # Each output value takes one product per weight of the filter that makes it.
        return output.numel() * layer.weight[0].numel()

    return _summed(model, input_shape, products)


def values_written(model: nn.Module, input_shape: tuple[int, ...]) -> int:
    """Values that the layers of one example's forward pass hand on, each layer's counted.

    What a thin network waits for: memory, not products. The model is left as it was.

    >>> values_written(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), (4,))
    6
    """

    def values(layer: nn.Module, output: Tensor) -> int:
        return output.numel() if next(layer.children(), None) is None else 0

    return _summed(model, input_shape, values)


def _summed(
    model: nn.Module, input_shape: tuple[int, ...], amount: Callable[[nn.Module, Tensor], int]
) -> int:
    """What the layers amount to, as often as each runs; containers are asked too."""
    total = 0

    def add(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        nonlocal total
        total += amount(layer, output)

    training = {module: module.training for module in model.modules()}
    hooks = [module.register_forward_hook(add) for module in model.modules()]
    example = next(model.parameters()).new_zeros((1, *input_shape))
    try:
        model.eval()
        with torch.no_grad():
            model(example)
    finally:
        for hook in hooks:
            hook.remove()
        for module, mode in training.items():
            module.training = mode
    return total
