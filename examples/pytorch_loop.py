"""A training loop of one's own in PyTorch: record the proxies, then draw by their disagreement.

    pip install '.[torch]'        # in a clone
    python examples/pytorch_loop.py      # digits, a few seconds

A quarter of the labels is flipped. Three small networks are followed while they train; a fourth is
trained on draws that prefer what the three disagree about, and one like it on uniform draws.
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import dris

EPOCHS, TARGET_EPOCHS = 10, 40


def network(seed: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    """64 pixels, 64 hidden units, 10 classes."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def step(optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    """One step downhill."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def proxy_dynamics(data: TensorDataset, seed: int) -> dris.Dynamics:
    """What one network thought of each example while it trained."""
    model, optimizer = network(seed)
    recorder = dris.Recorder(len(data))
    for _ in range(EPOCHS):
        for ids, x, y in DataLoader(data, batch_size=64, shuffle=True):
            logits = model(x)
            step(optimizer, cross_entropy(logits, y))
            recorder.update(ids, logits, y)
        recorder.end_epoch()
    return recorder.dynamics()


def accuracy(loader: DataLoader, x_test: torch.Tensor, y_test: torch.Tensor) -> float:
    """A fresh network, trained on what the loader draws."""
    model, optimizer = network(seed=3)
    for _ in range(TARGET_EPOCHS):
        for _, x, y in loader:
            step(optimizer, cross_entropy(model(x), y))
    with torch.no_grad():
        return (model(x_test).argmax(dim=1) == y_test).float().mean().item()


def main() -> None:
    """Flip, record, draw, compare."""
    pixels, truth = load_digits(return_X_y=True)
    x, y = torch.tensor(pixels / 16, dtype=torch.float32), torch.tensor(truth)
    noisy = dris.flip_labels(truth[:1300], 0.25, seed=0)  # nobody below looks at noisy.flipped
    data = TensorDataset(torch.arange(1300), x[:1300], torch.tensor(noisy.given))

    dynamics = dris.Dynamics.merge([proxy_dynamics(data, seed) for seed in range(3)])
    plan = dris.importance(dris.SCORES["rank_variance"](dynamics), weight_exponent=0)
    loader = DataLoader(data, batch_size=64, sampler=dris.ImportanceSampler(plan))

    uniform = DataLoader(data, batch_size=64, shuffle=True)
    print(dynamics)
    print(f"wrong labels among the draws: {plan.mass(noisy.flipped):.1%} instead of 25.0%")
    for name, drawn in (("uniform draws", uniform), ("by disagreement", loader)):
        print(f"test accuracy, {name}: {accuracy(drawn, x[1300:], y[1300:]):.1%}")


if __name__ == "__main__":
    main()
