"""A process that trains one target and counts every step it takes, made to be killed.

As a script: killed_target.py KIND STORE OUT. Its steps are counted as in `counted_training`.
"""

import sys
from pathlib import Path

import numpy as np
import torch

from counted_training import first
from dris.core.dynamics.dynamics_file import write_arrays
from dris.learn.recipe import Recipe
from experiments.targets.online import train_online
from experiments.targets.static import train_target
from oracles_networks import table

RECIPE = Recipe(epochs=5, batch_size=16, learning_rate=0.1)  # 4 steps an epoch


def train(kind, store=None):
    x, y = table()
    how = {"recipe": RECIPE, "seed": 3, "store": store, "test": (x, y)}
    if kind == "static":
        return train_target(first, x, y, np.arange(0, 60, 3), **how)
    return train_online(first, x, y, plan="loss_is", refresh=2, **how)


def save(trained, path):
    note = {**trained.record()}
    return write_arrays(Path(path), trained.weights, note, format=1).read_bytes()


if __name__ == "__main__":
    torch.set_num_threads(1)
    save(train(sys.argv[1], sys.argv[2]), sys.argv[3])
