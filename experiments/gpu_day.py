"""Tables 1 to 3 at the paper's scale on one GPU, checkpointed, packed to be sent back.

    python -m experiments.gpu_day --data-dir data --dry-run
    python -m experiments.gpu_day --data-dir data

In an order that is of use whenever it ends: CIFAR-10 under the attack at 25 % first, then table 3,
then the other columns of table 1, then CIFAR-100; table 2 is read off the same targets. Killed, the
same command goes on. After each part the records so far are packed into OUT/gpu-day.zip, which
is all there is to send back. Cost: what `--dry-run` says, by multiply-adds at the speed of the
paper's table 9: about 26 hours of an A100 for the first two parts, 91 in all. It was never run on a
GPU.
"""

import argparse
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from dris import InputError
from experiments.costs import Cost, cost_of
from experiments.dris_internals import bar, printable
from experiments.registry import EXPERIMENTS
from experiments.reproduction import Machine, Selection, plan_of, reproduce
from experiments.spec import Cell

NAMES = ("pruning", "contamination", "online")
PACKED = "gpu-day.zip"
_FIRST = ("targeted:0.25",)
_REST = ("clean", "uniform:0.1", "targeted:0.1")


def parts(scale: str, seeds: int | None = None) -> list[tuple[str, Selection]]:
    """What is run, in its order; at smoke the one data set there is.

    >>> [name for name, _ in parts("paper")]
    ['pruning', 'online', 'pruning', 'pruning', 'contamination']
    """
    ten, hundred = ((), ()) if scale == "smoke" else (("cifar10",), ("cifar100",))
    return [
        ("pruning", Selection(scale, seeds, ten, noises=_FIRST, paper_only=True)),
        ("online", Selection(scale, seeds, paper_only=True)),
        ("pruning", Selection(scale, seeds, ten, noises=_REST, paper_only=True)),
        ("pruning", Selection(scale, seeds, hundred, paper_only=True)),
        ("contamination", Selection(scale, seeds, paper_only=True)),
    ]


def run(scale: str, out: Path, machine: Machine, seeds: int | None = None) -> Path:
    """Run part after part; the packed records of all that is finished."""
    for name, selection in parts(scale, seeds):
        with bar("cells") as progress:
            reproduce([name], selection, out=out, machine=machine, progress=progress)
        packed = pack(scale, out, machine, seeds)
    return packed


def pack(scale: str, out: Path, machine: Machine, seeds: int | None = None) -> Path:
    """The compact records and pages of what is finished, in one archive."""
    reproduce(
        NAMES,
        Selection(scale, seeds, paper_only=True),
        out=out,
        machine=machine,
        run_missing=False,
    )
    results, packed = out / scale / "results", out / PACKED
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(results.rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                archive.write(path, path.relative_to(results))
    return packed


def costs(scale: str, out: Path, device: str, seeds: int | None = None) -> dict[str, Cost]:
    """What each part costs, less what is finished or an earlier part has."""
    result: dict[str, Cost] = {}
    earlier: set[Cell] = set()
    for number, (name, selection) in enumerate(parts(scale, seeds), 1):
        own = [cell for cell in plan_of([name], selection).every if cell not in earlier]
        earlier.update(own)
        title = f"{number}. {EXPERIMENTS[name].title}"
        result[title] = cost_of(own, out / scale, device=device)
    return {**result, "in all": cost_of(list(earlier), out / scale, device=device)}


def main(words: Sequence[str]) -> int:
    """Say what it costs, and run it unless that is all that was asked."""
    parser = argparse.ArgumentParser("python -m experiments.gpu_day", description=__doc__)
    parser.add_argument("--scale", default="paper", help="paper, or smoke to try it out [paper]")
    parser.add_argument("--device", default="cuda:0", help="the GPU; cpu for a trial [cuda:0]")
    parser.add_argument("--data-dir", type=Path, help="where data sets lie [DRIS_DATA]")
    parser.add_argument("--out", type=Path, default=Path("gpu-day"), help="folder for all of it")
    parser.add_argument("--seeds", type=int, help="seeds of every cell [3]")
    parser.add_argument("--dry-run", action="store_true", help="only say what it costs")
    asked = parser.parse_args(words)
    try:
        for name, cost in costs(asked.scale, asked.out, asked.device, asked.seeds).items():
            print(f"{name}: {cost}")
        if not asked.dry_run:
            machine = Machine(1, asked.device, data_dir=asked.data_dir)
            print(f"send back {run(asked.scale, asked.out, machine, asked.seeds)}")
    except InputError as error:
        print(f"gpu_day: {printable(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
