"""Time of one training step (forward and backward, batch 128) of each network, on one thread.

    python benchmarks/step_times.py [name ...]

Takes about a minute. Both memory layouts are timed; CPU seconds, smallest of five steps, so that
a busy machine disturbs little.
"""

import sys
import time

import torch
import torch.nn.functional as F  # noqa: N812

from dris.learn.trainers.networks.builders import build_model
from experiments.networks.count import count_parameters, multiply_adds

NAMES = (
    "small_cnn",
    "resnet20",
    "experiments.networks.shufflenet:shufflenet_v2_x0_5",
    "experiments.networks.mobilenet:mobilenet_v2_x0_5",
)
SHAPE, CLASSES, BATCH = (3, 32, 32), 10, 128


def step_time(name: str, memory_format: torch.memory_format) -> float:
    """CPU seconds of the fastest of five steps after a first one that warms up."""
    model = build_model(name, SHAPE, CLASSES, seed=0).to(memory_format=memory_format)
    x = torch.randn(BATCH, *SHAPE).contiguous(memory_format=memory_format)
    y = torch.randint(CLASSES, (BATCH,))
    times = []
    for _ in range(6):
        start = time.process_time()
        model.zero_grad()
        F.cross_entropy(model(x), y).backward()
        times.append(time.process_time() - start)
    return min(times[1:])


def main() -> None:
    """Print one line per network."""
    torch.set_num_threads(1)
    for name in sys.argv[1:] or NAMES:
        model = build_model(name, SHAPE, CLASSES, seed=0)
        plain, last = (
            1e3 * step_time(name, layout)
            for layout in (torch.contiguous_format, torch.channels_last)
        )
        print(
            f"{name:20} {count_parameters(model):>11,} parameters "
            f"{multiply_adds(model, SHAPE):>12,} multiply-adds "
            f"{plain:6.0f} ms, channels_last {last:6.0f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
