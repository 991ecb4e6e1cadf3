"""Time of one training step (forward, backward, SGD) of each network, on one thread.

    python benchmarks/step_times.py [name ...]

Both memory layouts at batch 128; then what would make the experiments at `mid` cheaper, beside the
step they take (channels_last, bfloat16, batch 128, 32 pixels). CPU seconds, smallest of six steps
after two that warm up, so that a busy machine disturbs little. A minute, and two to compile.
"""

import sys
import time

import torch
import torch.nn.functional as F  # noqa: N812

from dris.learn.trainers.networks.models import build_model
from experiments.networks.count import count_parameters, multiply_adds

NAMES = (
    "small_cnn",
    "resnet20",
    "experiments.networks.shufflenet:shufflenet_v2_x0_5",
    "experiments.networks.mobilenet:mobilenet_v2_x0_5",
)
CLASSES, BATCH, SIDE = 10, 128, 32
CHEAPER = {
    "as at mid": {},
    "float32": {"bfloat16": False},
    "batch 256": {"batch": 256},
    "batch 512": {"batch": 512},
    "24 pixels": {"side": 24},
    "16 pixels": {"side": 16},
    "compiled": {"compiled": True},
}


def step_time(
    name: str,
    layout: torch.memory_format = torch.channels_last,
    *,
    bfloat16: bool = True,
    batch: int = BATCH,
    side: int = SIDE,
    compiled: bool = False,
) -> float:
    """CPU milliseconds an image of the fastest step."""
    model = build_model(name, (3, side, side), CLASSES, seed=0).to(memory_format=layout)
    steps = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, weight_decay=5e-4)
    x = torch.randn(batch, 3, side, side).contiguous(memory_format=layout)
    y = torch.randint(CLASSES, (batch,))
    answer, times = torch.compile(model) if compiled else model, []
    for _ in range(8):
        start = time.process_time()
        steps.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
            loss = F.cross_entropy(answer(x), y)
        loss.backward()
        steps.step()
        times.append(time.process_time() - start)
    return 1e3 * min(times[2:]) / batch


def main() -> None:
    """Print one line per network, then one per way to a cheaper step."""
    torch.set_num_threads(1)
    for name in sys.argv[1:] or NAMES:
        model = build_model(name, (3, SIDE, SIDE), CLASSES, seed=0)
        plain, last = (
            BATCH * step_time(name, layout, bfloat16=False)
            for layout in (torch.contiguous_format, torch.channels_last)
        )
        print(
            f"{name:20} {count_parameters(model):>11,} parameters "
            f"{multiply_adds(model, (3, SIDE, SIDE)):>12,} multiply-adds "
            f"{plain:6.0f} ms, channels_last {last:6.0f} ms",
            flush=True,
        )
    usual = step_time("small_cnn")
    for name, how in CHEAPER.items():
        took = step_time("small_cnn", **how)
        print(f"{name:12} {took:6.3f} ms an image, {took / usual:.2f} times", flush=True)


if __name__ == "__main__":
    main()
