"""A process that trains two proxies and counts every step it takes, made to be killed.

As a script: counted_training.py STORE OUT WORKERS. The steps are counted in the file that
COUNTED_STEPS names, one letter each, by processes that may die at any moment.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

import dris
from dris.learn.proxies import train_proxies
from dris.learn.recipe import Recipe
from dris.learn.trainers.networks.models import Classifier
from oracles_networks import table

STEPS, EPOCHS = 4, 6  # 60 examples in batches of 16
RECIPE = Recipe(epochs=EPOCHS, batch_size=16, learning_rate=0.1)


class Counted(nn.Module):
    """Counts its training batches, and takes its time over them."""

    def __init__(self, letter):
        super().__init__()
        self.letter = letter

    def forward(self, x):
        if self.training and "COUNTED_STEPS" in os.environ:
            count(self.letter)
            time.sleep(0.004)
        return x


def count(letter):
    handle = os.open(os.environ["COUNTED_STEPS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, letter)
    os.close(handle)


def first(shape, classes):
    body = nn.Sequential(Counted(b"a"), nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Dropout(0.2))
    return Classifier(body, nn.Linear(6, classes))


def second(shape, classes):
    return Classifier(Counted(b"b"), nn.Linear(5, classes))


def train(store=None, workers=1, **changed):
    x, y = table()
    how = {"seed": 3, "recipe": RECIPE, "gradient_norm": True, **changed}
    return train_proxies(
        x,
        y,
        proxies=2,
        model=["counted_training:first", "counted_training:second"],
        workers=workers,
        store=store,
        **how,
    )


def started(store, out, steps, workers=1):
    """The script in a session of its own, so that all its processes can be killed at once."""
    paths = [Path(dris.__file__).parents[1], Path(__file__).parent]
    return subprocess.Popen(
        [sys.executable, __file__, str(store), str(out), str(workers)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "COUNTED_STEPS": str(steps),
            "OMP_NUM_THREADS": "1",
        },
    )


def killed_after(process, steps, count, delay, letters=b"ab"):
    """Kill every process of the session once `count` more steps were taken, and `delay` later."""
    begin, until = taken(steps, letters), time.monotonic() + 300
    while process.poll() is None and time.monotonic() < until:
        if taken(steps, letters) >= begin + count:
            break
        time.sleep(0.001)
    time.sleep(delay)
    alive = process.poll() is None
    if alive:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return alive


def finished(process):
    """Wait for its end: nothing, or what it complained about."""
    _, told = process.communicate(timeout=90)
    return told.decode() if process.returncode else ""


def taken(path, letters=b"ab"):
    """Steps taken so far, by proxies of the given letters."""
    held = path.read_bytes() if path.exists() else b""
    return sum(held.count(letters[i : i + 1]) for i in range(len(letters)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    np.seterr(all="raise")
    train(sys.argv[1], int(sys.argv[3])).save(sys.argv[2])
