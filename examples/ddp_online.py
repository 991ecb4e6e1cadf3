"""Online training by importance on several processes: the same draws, the same network.

    torchrun --standalone --nproc-per-node=2 examples/ddp_online.py --out ddp-out

Every process draws its own part of one sequence (`rank`, `world_size`), and batches are cut so
that a step of all processes together is a step of one process: rank r of R takes every R-th draw,
B/R of them a step, and DistributedDataParallel averages R means of B/R examples each, which is
the mean of B. So the number of processes changes the rounding and nothing else. Writes
OUT/ddp-R.json: the draws in their united order, and the loss over all examples at the end.
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.nn  # noqa: F401 -- loaded later, it would hold the group until the exit
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

import dris
from dris.learn.trainers.networks.samplers import WeightedDataset

BATCH = 64  # of all processes together

# How far the final losses of one and of several processes may lie apart, relative. A sum of 64
# numbers in another order differs by up to 64 units of float32's last place, 64 * 6e-8 = 4e-6;
# 140 such steps of a smooth problem at a small learning rate add to, rather than multiply, each
# other: at most 140 * 4e-6 = 5e-4. Measured: 1e-8.
TOLERANCE = 5e-4


def main() -> None:
    """Train on this process's part of the draws; rank 0 writes what all of them did."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("ddp-out"))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--same-draws", action="store_true", help="The mistake: no rank is told.")
    asked = parser.parse_args()

    dist.init_process_group("gloo")  # torchrun has said who we are
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    asked.out.mkdir(parents=True, exist_ok=True)

    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype(np.float32)
    # One process trains the proxies, the others wait for its lock and find them in the store.
    dynamics = dris.train_proxies(
        x, y, model="sgd_log", epochs=4, workers=1, store=asked.out / "runs"
    )
    plan = dris.importance(dris.SCORES["rank_variance"](dynamics))
    told = {} if asked.same_draws else {"rank": rank, "world_size": world}
    sampler = dris.ImportanceSampler(plan, seed=0, **told)
    positions = torch.arange(len(y))
    examples = TensorDataset(torch.from_numpy(x), torch.from_numpy(y), positions)
    loader = DataLoader(
        WeightedDataset(examples, sampler),
        batch_size=BATCH // world,
        sampler=sampler,
        drop_last=True,  # a last, smaller batch would be cut elsewhere with more processes
    )

    torch.manual_seed(0)  # the same network everywhere
    network = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    used = []
    for epoch in range(asked.epochs):
        sampler.set_epoch(epoch)
        for inputs, labels, at, weight in loader:
            loss = (weight * cross_entropy(model(inputs), labels, reduction="none")).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            used.append(at)

    united = [torch.empty(0, dtype=torch.int64)] * world
    dist.all_gather_object(united, torch.cat(used))
    if rank == 0:
        with torch.no_grad():  # in double precision, which shows how the networks differ
            outputs = network.double()(torch.from_numpy(x).double())
            final = cross_entropy(outputs, torch.from_numpy(y)).item()
        # Draw 0 is rank 0's first, draw 1 rank 1's first, and so on.
        draws = torch.stack(united, dim=1).flatten().tolist()
        path = asked.out / f"ddp-{world}.json"
        path.write_text(
            json.dumps({"processes": world, "loss": final, "draws": draws}), encoding="utf-8"
        )
        each = os.environ.get("LOCAL_WORLD_SIZE", "1")
        print(f"{world} processes ({each} here), {len(draws):,} draws, final loss {final:.9f}")
    # With nothing left that holds the group its threads end here. One that outlives the
    # interpreter aborts its process now and then, after all is done.
    del model
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
