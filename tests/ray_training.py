"""Three proxies that count their steps and can be held at one, to be killed there.

The nodes of the test's cluster get HELD_STEPS, a folder: `steps` in it has a letter for every
step taken; while there is `hold-a`, proxy a stops at its tenth step and says in `held-a` where
it is. As a script: ray_training.py ADDRESS STORE, a driver made to be killed.
"""

import json
import os
import sys
import time
from pathlib import Path

from torch import nn

from dris.learn.engines.tasks import Engine
from dris.learn.proxies import train_proxies
from dris.learn.recipe import Recipe
from dris.learn.trainers.networks.models import Classifier
from oracles_networks import table

STEPS = 24  # 60 examples in batches of 16, 6 epochs
PER_EPOCH, HELD_AT = 4, 10  # the third epoch
FOLDER = "HELD_STEPS"


class Held(nn.Module):
    """Counts its training batches; holds at the tenth while it is told to."""

    def __init__(self, letter):
        super().__init__()
        self.letter = letter

    def forward(self, x):
        if self.training and FOLDER in os.environ:
            folder = Path(os.environ[FOLDER])
            handle = os.open(folder / "steps", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(handle, self.letter.encode())
            os.close(handle)
            hold = folder / f"hold-{self.letter}"
            if taken(folder, self.letter) == HELD_AT and hold.exists():
                self._say(folder / f"held-{self.letter}")
                while hold.exists():
                    time.sleep(0.01)
        return x

    def _say(self, path):
        import ray

        here = {"pid": os.getpid(), "node": ray.get_runtime_context().get_node_id()}
        path.with_suffix(".tmp").write_text(json.dumps(here), encoding="utf-8")
        path.with_suffix(".tmp").rename(path)


def taken(folder, letter):
    """Steps that a proxy took so far, in all its attempts."""
    path = Path(folder) / "steps"
    return path.read_bytes().count(letter.encode()) if path.exists() else 0


def network(letter, shape, classes):
    body = nn.Sequential(Held(letter), nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Dropout(0.2))
    return Classifier(body, nn.Linear(6, classes))


def a(shape, classes):
    return network("a", shape, classes)


def b(shape, classes):
    return network("b", shape, classes)


def c(shape, classes):
    return network("c", shape, classes)


def train(**how):
    x, y = table()
    recipe = Recipe(epochs=6, batch_size=16, learning_rate=0.1)
    models = [f"ray_training:{letter}" for letter in "abc"]
    return train_proxies(x, y, proxies=3, model=models, seed=3, recipe=recipe, **how)


if __name__ == "__main__":
    train(engine=Engine("ray", address=sys.argv[1]), store=sys.argv[2])
