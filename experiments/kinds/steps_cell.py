"""How long one training step of a network takes, beside the multiply-adds of its forward pass."""

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.kinds.shared import Finding, record_time
from experiments.spec import Cell
from experiments.workspace import Workspace

SHAPE = (3, 32, 32)
STEPS = 2
_CLASSES = {"experiments.networks.resnet18:resnet18": 100}


def findings(cells: Sequence[Cell], workspace: Workspace) -> Iterator[Finding]:
    """The first step of a network is not timed, the next ones are."""
    from experiments.dris_torch import build_model
    from experiments.networks.count import multiply_adds

    for cell in cells:
        (name,), batch = cell.ensemble.models, cell.ensemble.recipe.batch_size
        network = build_model(name, SHAPE, _CLASSES.get(name, 10), seed=cell.seed)
        adds = multiply_adds(network, SHAPE)
        train(network, batch, 1, workspace.device)
        seconds: dict[str, float] = {}
        with record_time(seconds, "steps"):
            train(network, batch, STEPS, workspace.device)
        yield Finding(cell, {"multiply_adds": adds, "batch": batch, "steps": STEPS}, seconds)


def train(network: Any, batch: int, steps: int, device: str) -> None:
    """Forward, backward and update on a batch of noise."""
    import torch

    network.to(device, memory_format=torch.channels_last).train()
    update = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(batch, *SHAPE, device=device).to(memory_format=torch.channels_last)
    y = torch.zeros(batch, dtype=torch.int64, device=device)
    for _ in range(steps):
        update.zero_grad()
        loss: Any = torch.nn.functional.cross_entropy(network(x), y)
        loss.backward()
        update.step()
