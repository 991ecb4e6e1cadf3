"""Train one network on all of clean CIFAR-10 with a plain loop: does it learn, and how fast.

    python -m experiments.studies.small_cnn_cifar10 FOLDER [--model small_cnn] [--epochs 4]

FOLDER holds the official binary batches (data_batch_1.bin to test_batch.bin). One thread.
Measured once (small_cnn, 4 epochs, lr 0.1, seed 0): test accuracy 0.490, 0.634, 0.739, 0.753
(n = 10,000) after epochs 1 to 4, 149 s of CPU on one core of a two-core machine.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from experiments.dris_torch import build_model

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
BATCH, PAD, SIZE = 128, 4, 32


def read(folder: Path, names: list[str]) -> tuple[Tensor, Tensor]:
    """Normalised images and labels from official binary batches."""
    rows = np.concatenate([np.fromfile(folder / n, np.uint8).reshape(-1, 3073) for n in names])
    images = torch.from_numpy(rows[:, 1:].reshape(-1, 3, SIZE, SIZE).copy()).float() / 255
    images = (images - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
    return images, torch.from_numpy(rows[:, 0].astype(np.int64))


def augmented(padded: Tensor, rows: Tensor) -> Tensor:
    """Each example cropped at a place of its own and mirrored by a coin; channels last."""
    n, line = len(rows), torch.arange(SIZE)
    mirrored = torch.where(torch.rand(n, 1) < 0.5, SIZE - 1 - line, line)
    x = mirrored + torch.randint(2 * PAD + 1, (n, 1))
    y = line + torch.randint(2 * PAD + 1, (n, 1))
    return padded[rows[:, None, None], y[:, :, None], x[:, None, :]].permute(0, 3, 1, 2)


def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    """The share of examples whose largest logit is their label's."""
    model.eval()
    with torch.no_grad():
        guesses = torch.cat([model(x).argmax(1) for x in images.split(1000)])
    return float((guesses == labels).float().mean())


def main() -> None:
    """Train, and print accuracy and seconds after each epoch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="small_cnn")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    choice = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(choice.seed)
    last = torch.channels_last
    train, labels = read(choice.folder, [f"data_batch_{i}.bin" for i in range(1, 6)])
    test, test_labels = read(choice.folder, ["test_batch.bin"])
    test = test.contiguous(memory_format=last)
    padded = F.pad(train, (PAD,) * 4, mode="reflect").permute(0, 2, 3, 1).contiguous()
    model = build_model(choice.model, (3, SIZE, SIZE), 10, seed=choice.seed).to(memory_format=last)
    sgd = torch.optim.SGD(model.parameters(), lr=choice.lr, momentum=0.9, weight_decay=5e-4)
    steps = choice.epochs * -(-len(labels) // BATCH)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(sgd, steps)
    wall = cpu = 0.0
    for epoch in range(1, choice.epochs + 1):
        started, used = time.perf_counter(), time.process_time()
        model.train()
        for rows in torch.randperm(len(labels)).split(BATCH):
            sgd.zero_grad()
            F.cross_entropy(model(augmented(padded, rows)), labels[rows]).backward()
            sgd.step()
            cosine.step()
        wall += time.perf_counter() - started
        cpu += time.process_time() - used
        print(
            f"epoch {epoch}: test accuracy {accuracy(model, test, test_labels):.4f} "
            f"(n = {len(test_labels)}), {wall:.0f} s, {cpu:.0f} s of CPU",
            flush=True,
        )


if __name__ == "__main__":
    main()
