"""Recording training dynamics: `Recorder` beside the AUM authors' package, in one run.

Run `python benchmarks/recorder.py` (needs torch and aum; about half a minute on one core).
Both get the same tensors, 50,000 examples of 10 classes in shuffled batches of 128, and must give
the same AUM. They take turns, on one thread each, and the least CPU time of each counts, which is
what a quiet machine's clock shows. One thread is the package's best case: with two, its many small
calls wait for each other on a busy machine (9 s to 16 s were seen). The aim is 20×.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator

import numpy as np
import torch
from aum import AUMCalculator

from dris.core.scores.formulas import aum
from dris.learn.record.recorder import Recorder
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
    start = time.process_time()
    calculator = AUMCalculator(tempfile.gettempdir())
    for epoch in data:
        for ids, logits, targets in epoch:
            calculator.update(logits, targets, ids.tolist())
    seconds = time.process_time() - start
    n = len(calculator.sums)
    return seconds, np.array([calculator.sums[i] / calculator.counts[i] for i in range(n)])


def with_recorder(data: list[list[Batch]], record: str) -> tuple[float, np.ndarray]:
    """Seconds (the last epoch's snapshot and the dynamics included) and the AUM by dris."""
    n = sum(len(ids) for ids, _, _ in data[0])
    start = time.process_time()
    recorder = Recorder(n, record=record, scored_epoch=len(data))
    for epoch in data:
        for ids, logits, targets in epoch:
            recorder.update(ids, logits, targets)
        if record == "scored" and recorder.epoch == recorder.scored_epoch:
            for ids, logits, targets in epoch:
                recorder.snapshot(ids, logits, targets)
        recorder.end_epoch()
    dynamics = recorder.dynamics()
    return time.process_time() - start, aum(dynamics)


def main() -> None:
    """Time both, check that they agree, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=7, help="the fastest of these counts")
    args = parser.parse_args()
    torch.set_num_threads(1)
    data = epochs_of_batches(args.examples, args.classes, args.epochs, args.batch)
    print(f"{args.examples} × {args.classes}, {args.epochs} epochs in batches of {args.batch}")
    rounds = [
        (with_aum(data), with_recorder(data, "scored"), with_recorder(data, "all"))
        for _ in range(args.repeats)
    ]
    (theirs, reference), *recorders = (
        min(runs, key=lambda run: run[0]) for runs in zip(*rounds, strict=True)
    )
    print(f"aum's AUMCalculator      {theirs:7.3f} s")
    for record, (ours, values) in zip(("scored", "all"), recorders, strict=True):
        worst = float(np.abs(values - reference).max())
        print(f"Recorder, record={record:8} {ours:7.3f} s")
        report(f"record={record}, speed over aum", theirs / ours, "x", 20, at_least=True)
        report("largest difference in AUM", worst, "", 1e-6, at_least=False)
    finish()


if __name__ == "__main__":
    main()
