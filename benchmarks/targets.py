"""A static target's step against a plain training loop's, on the same network and batches.

The plain loop is what one writes by hand around a tensor on the device: gather, forward,
backward, step, the learning rate set from the cosine. Ours is `train_target` on a quarter of the
data: step parity, checks and the log included. Both take as many steps of the same batch size.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from dris.learn.recipe import Recipe
from dris.learn.trainers.networks.loop import cosine
from dris.learn.trainers.networks.models import build_model
from experiments.targets.static import train_target
from measure import finish, report


def plainly(name: str, x: np.ndarray, y: np.ndarray, recipe: Recipe) -> None:
    """The loop by hand, over the whole data."""
    model = build_model(name, x.shape[1:], 10, seed=0).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(
        model.parameters(), recipe.learning_rate, momentum=0.9, weight_decay=5e-4
    )
    labels = torch.from_numpy(y)
    mean, spread = float(x.mean()), float(x.std())
    held = torch.from_numpy((x.astype(np.float32) - mean) / spread)
    rng = np.random.default_rng(0)
    size = recipe.batch_size
    steps = len(x) // size
    model.train()
    for epoch in range(recipe.epochs):
        order = rng.permutation(len(x))
        for step in range(steps):
            at = torch.from_numpy(order[step * size : (step + 1) * size])
            for group in optimizer.param_groups:
                group["lr"] = cosine(recipe, epoch * steps + step, recipe.epochs * steps)
            batch = held.index_select(0, at)
            if batch.ndim == 4:
                batch = batch.contiguous(memory_format=torch.channels_last)
            optimizer.zero_grad(set_to_none=True)
            cross_entropy(model(batch), labels[at]).backward()
            optimizer.step()


def ours(name: str, x: np.ndarray, y: np.ndarray, recipe: Recipe) -> None:
    """The same number of steps on a quarter."""
    train_target(name, x, y, np.arange(0, len(x), 4), recipe=recipe)


def per_step(way: Callable[..., None], name: str, x: np.ndarray, y: np.ndarray, e: int) -> float:
    """CPU seconds of e epochs among 2e: what both lengths share, the set-up, drops out."""
    spent = []
    for epochs in (e, 2 * e):
        begin = time.process_time()
        way(name, x, y, Recipe(epochs, 128, 0.05, augment=False))
        spent.append(time.process_time() - begin)
    return spent[1] - spent[0]


def main() -> None:
    """Median over rounds of the ratio of CPU times, taking turns: the machine may be busy."""
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    images = rng.normal(size=(1280, 3, 32, 32)).astype(np.float32)
    table = rng.normal(size=(25_600, 784)).astype(np.float32)
    for name, x, epochs in (("small_cnn", images, 2), ("resnet20", images, 1), ("fc", table, 3)):
        y = rng.integers(0, 10, len(x))
        for way in (ours, plainly):
            way(name, x[:256], y[:256], Recipe(1, 128, 0.05, augment=False))
        ratios = [
            per_step(ours, name, x, y, epochs) / per_step(plainly, name, x, y, epochs)
            for _ in range(7)
        ]
        steps = epochs * len(x) // 128
        what = f"{name}, {steps} steps on a quarter over {steps} plain steps"
        report(what, float(np.median(ratios)), "x", 1.03, at_least=False)
    finish()


if __name__ == "__main__":
    main()
