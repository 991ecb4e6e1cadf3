"""How large a model is: parameters, and multiply-adds of one forward pass."""

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
    total = 0

    def add(layer: nn.Conv2d | nn.Linear, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        nonlocal total
        # Each output value takes one product per weight of the filter that makes it.
        total += output.numel() * layer.weight[0].numel()

    training = {module: module.training for module in model.modules()}
    hooks = [
        module.register_forward_hook(add)
        for module in model.modules()
        if isinstance(module, nn.Conv2d | nn.Linear)
    ]
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
