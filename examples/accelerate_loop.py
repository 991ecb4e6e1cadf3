"""A loop of one's own under accelerate: record the proxies, then draw by what came of it.

    torchrun --nproc_per_node 2 examples/accelerate_loop.py     # or python, or accelerate launch

Needs `pip install ".[torch]" accelerate`; seconds on two cores. Expected: of the tenth with the
lowest score nearly all labels are wrong, and fewer of the draws are than of the examples.
"""

import torch
import torch.distributed.nn  # noqa: F401 -- loaded later, it would hold the group until the exit
from accelerate import Accelerator
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import dris
from dris.core.select.importance import Importance
from dris.learn.trainers.networks.samplers import WeightedDataset

EPOCHS, WRONG = 8, 0.2


def network(width: int, seed: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def proxy(accelerator: Accelerator, data: TensorDataset, seed: int) -> dris.Dynamics:
    """What one network says of every example after each epoch, whichever process saw it."""
    loader = DataLoader(data, batch_size=64, shuffle=True)
    model, optimizer, loader, every = accelerator.prepare(
        *network(32 + 16 * seed, seed), loader, DataLoader(data, batch_size=256)
    )
    recorder = dris.Recorder(len(data))
    for _ in range(EPOCHS):
        model.train()
        for _, x, y in loader:
            optimizer.zero_grad()
            accelerator.backward(cross_entropy(model(x), y))
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for ids, x, y in every:  # no example twice: what evens out the processes is left out
                recorder.update(*accelerator.gather_for_metrics((ids, model(x), y)))
        recorder.end_epoch()
    return recorder.dynamics()


def accuracy(accelerator: Accelerator, plan: Importance, data: TensorDataset, held) -> float:
    """A network trained on weighted draws. The sampler draws for all; accelerate shares out."""
    sampler = dris.ImportanceSampler(plan, seed=0)
    loader = DataLoader(WeightedDataset(data, sampler), batch_size=64, sampler=sampler)
    model, optimizer, loader = accelerator.prepare(*network(64, 9), loader)
    for _ in range(20):
        for _, x, y, w in loader:
            optimizer.zero_grad()
            losses = cross_entropy(model(x), y, reduction="none")
            accelerator.backward((w * losses).mean())
            optimizer.step()
    with torch.no_grad():
        x, y = (part.to(accelerator.device) for part in held)
        return (model(x).argmax(dim=1) == y).float().mean().item()


def main() -> None:
    accelerator = Accelerator(cpu=True)
    pixels, truth = load_digits(return_X_y=True)
    x, y = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(truth)
    noisy = dris.flip_labels(truth[:1300], WRONG, seed=0)  # nobody below looks at noisy.flipped
    data = TensorDataset(torch.arange(1300), x[:1300], torch.tensor(noisy.given))

    dynamics = dris.Dynamics.merge([proxy(accelerator, data, seed) for seed in range(3)])
    lowest = dris.SCORES["aum_mean"](dynamics).argsort()[:130]
    plan = dris.importance(dris.SCORES["rank_variance"](dynamics), weight_exponent=0)
    right = accuracy(accelerator, plan, data, (x[1300:], y[1300:]))
    accelerator.print(dynamics)
    accelerator.print(f"wrong labels in the lowest tenth  {noisy.flipped[lowest].mean():.1%}")
    accelerator.print(f"wrong labels among the draws  {plan.mass(noisy.flipped):.1%}")
    accelerator.print(f"test accuracy  {right:.1%}")
    accelerator.free_memory()  # wrapped networks hold the group, whose threads must not outlive us
    accelerator.end_training()


if __name__ == "__main__":
    main()
