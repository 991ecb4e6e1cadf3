"""Recording training dynamics: `Recorder` beside the AUM authors' package, in one run.

Run `python benchmarks/recorder.py` (needs torch and aum; about a minute on two cores).
Both get the same tensors, 50,000 examples of 10 classes in shuffled batches of 128, and must give
the same AUM. The aim is 20×. On a quiet machine it is missed (11× to 13×); on a busy one, where
the package's many small torch calls wait for each other, 42× to 69× were seen.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator

import numpy as np
import torch
from aum import AUMCalculator

from dris.core.scores import aum
from dris.learn.recorder import Recorder
from measure import finish, report

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def epochs_of_batches(n: int, classes: int, epochs: int, batch: int) -> list[list[Batch]]:
    """(ids, logits, targets) of every batch, made beforehand so that only recording is timed."""
    draw = torch.Generator().manual_seed(0)
    targets = torch.randint(classes, (n,), generator=draw)

    def one_epoch() -> Iterator[Batch]:
        for ids in torch.randperm(n, generator=draw).split(batch):
            yield ids, torch.randn(len(ids), classes, generator=draw), targets[ids]

    return [list(one_epoch()) for _ in range(epochs)]


def with_aum(data: list[list[Batch]]) -> tuple[float, np.ndarray]:
    """Seconds and the AUM of each example by the package."""
    start = time.perf_counter()
    calculator = AUMCalculator(tempfile.gettempdir())
    for epoch in data:
        for ids, logits, targets in epoch:
            calculator.update(logits, targets, ids.tolist())
    seconds = time.perf_counter() - start
    n = len(calculator.sums)
    return seconds, np.array([calculator.sums[i] / calculator.counts[i] for i in range(n)])


def with_recorder(data: list[list[Batch]], record: str) -> tuple[float, np.ndarray]:
    """Seconds (the last epoch's snapshot and the dynamics included) and the AUM by dris."""
    n = sum(len(ids) for ids, _, _ in data[0])
    start = time.perf_counter()
    recorder = Recorder(n, record=record, scored_epoch=len(data))
    for epoch in data:
        for ids, logits, targets in epoch:
            recorder.update(ids, logits, targets)
        if record == "scored" and recorder.epoch == recorder.scored_epoch:
            for ids, logits, targets in epoch:
                recorder.snapshot(ids, logits, targets)
        recorder.end_epoch()
    dynamics = recorder.dynamics()
    return time.perf_counter() - start, aum(dynamics)


def main() -> None:
    """Time both, check that they agree, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=3, help="the fastest of these counts")
    args = parser.parse_args()
    data = epochs_of_batches(args.examples, args.classes, args.epochs, args.batch)
    print(f"{args.examples} × {args.classes}, {args.epochs} epochs in batches of {args.batch}")
    theirs, reference = min((with_aum(data) for _ in range(args.repeats)), key=lambda r: r[0])
    print(f"aum's AUMCalculator      {theirs:7.3f} s")
    for record in ("scored", "all"):
        runs = [with_recorder(data, record) for _ in range(args.repeats)]
        ours, values = min(runs, key=lambda r: r[0])
        worst = float(np.abs(values - reference).max())
        print(f"Recorder, record={record:8} {ours:7.3f} s")
        report(f"record={record}, speed over aum", theirs / ours, "x", 20, at_least=True)
        report("largest difference in AUM", worst, "", 1e-6, at_least=False)
    finish()


if __name__ == "__main__":
    main()
