"""The norm of each example's gradient with respect to every weight of a network."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from dris import InputError
from experiments.dris_internals import Recipe, Store, seed_for
from experiments.dris_torch import TensorSource
from experiments.targets.static import train_target

_AT_ONCE = 64  # a gradient of every weight for each


def gradient_norms(
    model: nn.Module, x: NDArray[Any], y: NDArray[np.int64], *, normalize: bool = True
) -> NDArray[np.float64]:
    """‖∇ℓ(x, y)‖ over all weights, example by example, in eval mode.

    >>> net = nn.Linear(1, 2, bias=False); _ = nn.init.zeros_(net.weight)
    >>> x, y = np.array([[-1.0], [1.0]]), np.array([0, 1])  # already mean 0, deviation 1
    >>> gradient_norms(net, x, y).round(4).tolist()
    [0.7071, 0.7071]
    """
    model.eval()
    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    buffers = dict(model.named_buffers())

    def loss(weights: dict[str, Tensor], one: Tensor, label: Tensor) -> Tensor:
        logits = functional_call(model, (weights, buffers), (one[None],))
        return nn.functional.cross_entropy(logits, label[None])

    each = vmap(grad(loss), in_dims=(None, 0, 0))
    device = next(iter(weights.values())).device
    source = TensorSource(x, device, normalize=normalize)
    pieces = np.array_split(np.arange(len(y)), -(-len(y) // _AT_ONCE))
    result = []
    for positions, batch in zip(pieces, source.batches(pieces), strict=True):
        labels = torch.from_numpy(y[positions]).to(device)
        squares = sum(g.flatten(1).square().sum(1) for g in each(weights, batch, labels).values())
        result.append(torch.as_tensor(squares).sqrt().cpu().numpy())
    return np.concatenate(result).astype(np.float64)


def attack_all_weights(
    x: Any,
    y: NDArray[np.int64],
    *,
    model: Any,
    recipe: Recipe,
    seed: int,
    device: str = "cpu",
    store: Store | str | Path | None = None,
) -> NDArray[np.float64]:
    """Norms over every weight of an attacker that is read after its last step."""
    if not isinstance(x, np.ndarray):
        raise InputError(f"the gradient of all weights needs arrays, got {type(x).__name__}")
    own = seed_for(seed, "attacker", "all weights")
    how: dict[str, Any] = {
        "recipe": recipe,
        "seed": own,
        "course": False,
        "device": device,
        "store": store,
    }
    run = train_target(model, x, y, np.arange(len(y)), **how)
    if not hasattr(run.model, "named_parameters"):
        raise InputError("the gradient of all weights needs a network")
    return gradient_norms(run.model, x, y)
