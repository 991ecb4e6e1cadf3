"""An ensemble's training against the plain way: one model after the other, a DataLoader, threads.

The plain way is what a first script does: a data set that crops, flips and normalises example by
example, a DataLoader, all cores as threads of one model, and an eval pass after every epoch for
the losses that scores need. Ours trains the same models on the same data with the same recipe in
one process per core and takes the eval pass at the scored epoch only, while AUM and forgetting
add up from the training batches. Both end with what every score needs.
"""

import os
import time

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

from dris.learn.proxies import train_proxies
from dris.learn.recipe import Recipe
from dris.learn.trainers.networks.loop import cosine
from dris.learn.trainers.networks.models import build_model
from measure import finish, report

PROXIES = 2


class PerExample(Dataset):
    """Crops, flips and normalises one example at a time."""

    def __init__(self, x: np.ndarray, y: np.ndarray, *, augment: bool) -> None:
        self.x, self.y, self.augment = x, y, augment

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
        x = torch.from_numpy(self.x[i]).float()
        if self.augment and x.ndim == 3:
            wide = torch.nn.functional.pad(x[None], (4,) * 4, mode="reflect")[0]
            down, right, flip = np.random.default_rng().integers(0, (9, 9, 2))
            x = wide[:, down : down + x.shape[1], right : right + x.shape[2]]
            x = x.flip(2) if flip else x
        return (x - 128) / 64 if x.ndim == 3 else x, int(self.y[i])


def plainly(name: str, x: np.ndarray, y: np.ndarray, recipe: Recipe) -> None:
    """The plain way; keeps the losses of every epoch."""
    torch.set_num_threads(os.cpu_count() or 1)
    for k in range(PROXIES):
        model = build_model(name, x.shape[1:], 10, seed=k)
        optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=5e-4)
        training = DataLoader(PerExample(x, y, augment=recipe.augment), 128, shuffle=True)
        fixed = DataLoader(PerExample(x, y, augment=False), 128)
        losses = []
        for epoch in range(recipe.epochs):
            model.train()
            for step, (batch, labels) in enumerate(training):
                rate = cosine(recipe, epoch * len(training) + step, recipe.epochs * len(training))
                optimizer.param_groups[0]["lr"] = rate
                optimizer.zero_grad()
                cross_entropy(model(batch), labels).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                seen = [cross_entropy(model(b), t, reduction="none") for b, t in fixed]
            losses.append(torch.cat(seen).numpy())
    torch.set_num_threads(1)


def ours(name: str, x: np.ndarray, y: np.ndarray, recipe: Recipe) -> None:
    """The same through train_proxies."""
    train_proxies(x, y, proxies=PROXIES, model=name, recipe=recipe, record="scored")


def main() -> None:
    """Three models; the worker processes are warm, as they are in any longer run."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (1280, 3, 32, 32)).astype(np.uint8)
    table = rng.normal(size=(12_800, 784)).astype(np.float32)
    for name, x, aim in (("resnet20", images, 1.5), ("fc", table, 2), ("linear", table, 2)):
        y = rng.integers(0, 10, len(x))
        recipe = Recipe(3 if x.ndim == 4 else 10, 128, 0.05, augment=x.ndim == 4)
        ours(name, x[:256], y[:256], recipe)
        best = [float("inf")] * 2
        for _ in range(2):
            for i, way in enumerate((plainly, ours)):
                begin = time.perf_counter()
                way(name, x, y, recipe)
                best[i] = min(best[i], time.perf_counter() - begin)
        print(
            f"{name}: {PROXIES} proxies, {recipe.epochs} epochs of {len(x):,}: "
            f"plain {best[0]:.1f} s, ours {best[1]:.1f} s"
        )
        report(f"{name}, throughput over the plain way", best[0] / best[1], "x", aim, at_least=True)
    finish()


if __name__ == "__main__":
    main()
