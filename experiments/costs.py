"""What cells would cost: measured where something like them was run, else by multiply-adds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path

from dris import InputError
from experiments.dris_internals import Recipe
from experiments.runner import Record, missing, read_record
from experiments.spec import CLEAN, Cell, Source

# Multiply-adds a second, training: one core of a usual server, and an A100 as the paper used it,
# whose table 9 has VGG-19 on CIFAR-10 at 24.5 minutes for 160 epochs. With it the cells that the
# paper has come to 7.8 GPU-days, of which it says eight; at 3e12, as was guessed first, and with
# all of ours they came to 23.6.
_RATES = {"cpu": 1.5e10, "cuda": 6.5e12}
# A value that a layer writes takes a core as long as so many multiply-adds: by the step times of
# the small CNN, ResNet-20, MobileNetV2 ×0.5 and ShuffleNetV2 ×0.5, of which the third has the
# second's products less a third and twice its time. The GPU's rate is by products alone.
_VALUE = {"cpu": 40, "cuda": 0}
_SHAPES: dict[str, tuple[int, tuple[int, ...], int]] = {
    "digits": (1_440, (64,), 10),
    "synthetic": (2_000, (20,), 2),
    "mnist": (60_000, (1, 28, 28), 10),
    "fashion-mnist": (60_000, (1, 28, 28), 10),
    "cifar10": (50_000, (3, 32, 32), 10),
    "cifar10n": (50_000, (3, 32, 32), 10),
    "cifar100": (50_000, (3, 32, 32), 100),
    "food101": (75_750, (3, 224, 224), 101),
}
# Seconds of a cell whose target is no network trained from scratch, proxies included.
_SECONDS = {
    "hinge": 30.0,
    "small_mlp_128": 1.5,
    "experiments.networks.backbones:random": 0.5,
    "experiments.networks.backbones:efficientnet_lite0": 40.0,
}
# Multiply-adds of a visit of a target whose trunk is only read: its 3.28e9, and thrice the tail's.
_TUNED = {"experiments.networks.torchvision_backbones:resnet50": 3.28e9 + 3 * 0.81e9}
_COUNTED = {*_SECONDS, *_TUNED}


@dataclass(frozen=True, slots=True)
class Cost:
    """How many cells there are, how many are left, and seconds of one device for those."""

    cells: int
    left: int
    seconds: float
    measured: bool

    def __str__(self) -> str:
        how = "measured on finished cells" if self.measured else "by multiply-adds"
        hours = self.seconds / 3600
        length = f"{hours:.1f} hours" if hours >= 1 else f"{self.seconds / 60:.0f} minutes"
        return f"{self.cells} cells, {self.left} to run, about {length} of one device ({how})"


def cost_of(cells: Sequence[Cell], out: Path, *, device: str, like: Sequence[Cell] = ()) -> Cost:
    """The cost of the cells without a record; proxies are counted once per group.

    Those of them and of `like`, the rest of their experiments, that are finished say how fast.
    """
    seconds_of((), device)  # which refuses what is no device
    wanted = list(dict.fromkeys(cells))
    left, every = missing(wanted, out), list(dict.fromkeys([*wanted, *like]))
    absent = set(missing(every, out))
    done = [cell for cell in every if cell not in absent]
    # Processor time says nothing of a GPU's.
    factor = _speed(done if device == "cpu" else [], out)
    seconds = (factor or 1.0) * seconds_of(left, device)
    return Cost(len(wanted), len(left), seconds, factor is not None)


def _speed(done: Sequence[Cell], out: Path) -> float | None:
    """What finished cells took beside what multiply-adds say; None where no clock tells.

    Of a cell that trained a network only its target is compared: its proxies may have been another
    cell's, or another machine's. A long target costs more than a short one, so sums are.
    """
    records = {cell: read_record(out / "records", cell) for cell in done}
    targets = [
        (record["seconds"]["target cpu"], _adds(c, c.target.model, c.target.recipe, "cpu"))
        for c, record in records.items()
        if c.target and _target(c) not in _COUNTED and "target cpu" in record["seconds"]
    ]
    if targets:
        spent = sum(seconds for seconds, _ in targets)
        known = sum(adds for _, adds in targets) / _RATES["cpu"]
    else:
        spent = sum(_spent(record) for record in records.values())
        known = seconds_of(done, "cpu")
    return spent / known if spent and known else None


def seconds_of(cells: Sequence[Cell], device: str) -> float:
    """By multiply-adds; kinds of cells that share their proxies train them once."""
    kind = device.partition(":")[0]
    if kind not in _RATES:
        raise InputError(f"device must be cpu, cuda or cuda:<number>, got {device!r}")
    flat = sum(_SECONDS.get(_target(cell), 0.0) for cell in cells)
    tuned = [cell for cell in cells if _target(cell) in _TUNED]
    # A reference that marks the noise of clean labels takes as many steps as a target.
    references = {cell.group: cell for cell in tuned if cell.noise == CLEAN}.values()
    total = sum(
        _shape(cell.source)[0] * cell.target.recipe.stop * _TUNED[cell.target.model]
        for cell in (*tuned, *references)
        if cell.target is not None
    )
    trained = [c for c in cells if _target(c) not in _COUNTED and c.kind != "steps"]
    total += sum(
        _adds(cell, cell.target.model, cell.target.recipe, kind)
        for cell in trained
        if cell.target is not None
    )
    for cell in {cell.group[1:]: cell for cell in trained}.values():
        ensemble = cell.ensemble
        each_proxy = [_adds(cell, model, ensemble.recipe, kind) for model in ensemble.models]
        total += sum(each_proxy) * ensemble.count / len(each_proxy)
    return flat + total / _RATES[kind]


def _target(cell: Cell) -> str:
    return "" if cell.target is None else cell.target.model


def _spent(record: Record) -> float:
    """Processor seconds of a finished cell, however busy the machine was beside it.

    Without the attacker: every cell of a group says how long it took, and no estimate has it.
    """
    seconds: dict[str, float] = record["seconds"]
    return sum(s for n, s in seconds.items() if n.endswith(" cpu") and n != "attacker cpu")


def _adds(cell: Cell, model: str, recipe: Recipe, kind: str) -> float:
    """Three passes' worth of multiply-adds per example and epoch: forward, and back twice."""
    n, shape, classes = _shape(cell.source)
    return 3.0 * n * recipe.stop * _forward(model, shape, classes, _VALUE[kind])


@cache
def _forward(model: str, shape: tuple[int, ...], classes: int, value: int) -> float:
    from experiments.dris_internals import ESTIMATORS, HEADS
    from experiments.dris_torch import build_model
    from experiments.networks.count import multiply_adds, values_written

    if model in ESTIMATORS:
        return float(classes)
    if model in HEADS:
        hidden = HEADS[model].hidden or 0
        inputs = prod(shape)
        return float(inputs * hidden + hidden * classes if hidden else inputs * classes)
    network = build_model(model, shape, classes, seed=0)
    return float(multiply_adds(network, shape) + value * values_written(network, shape))


def _shape(source: Source) -> tuple[int, tuple[int, ...], int]:
    """Examples, one example's shape and classes, known without reading the data."""
    total, shape, classes = _SHAPES[source.name]
    if source.side is not None:
        shape = (shape[0], source.side, source.side)
    return min(total, source.examples or total), shape, classes
