"""How often the range of wrong labels holds the truth, on data that did not choose it.

    export DRIS_PEERS=peers DRIS_DATA=data DRIS_TEXT=text OMP_NUM_THREADS=1
    python -m experiments.studies.ranges

What to install, and what the folders hold, is said in clean.py; CIFAR-100 besides.
The sets of range_sets.py with no noise and with uniform noise of 10, 20 and 40 %, three
seeds; as `dris clean` says it. Writes results/ranges.md, its record and its picture, and runs
only sets that the record does not have; `--finished` runs none. About 20 minutes of one core.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import dris
from dris import LabelledData
from experiments.studies.clean_noise import NOISES, corrupted
from experiments.studies.clean_sets import split
from experiments.studies.range_sets import PARTS, SETS

FREEZE = "d07976e"  # the commit at which the range was frozen
ROOT = Path(__file__).parents[2]
RECORD, PAGE = "results/records/ranges.json", "results/ranges.md"
PICTURE = "results/images/ranges.png"
SEEDS, NEAR = 3, 0.05
APART = 0.2  # contradicted without noise: up to it classes count as apart
TRUE = {"none": 0.0, "uniform-10": 0.1, "uniform-20": 0.2, "uniform-40": 0.4}
COLOURS = ("#888888", "#9ecae1", "#4292c6", "#08519c")

Cell = dict[str, Any]


def main() -> None:
    """Run what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("bench-out/ranges"), help="where tables are kept"
    )
    parser.add_argument("--finished", action="store_true", help="from the record alone")
    args = parser.parse_args()
    file = ROOT / RECORD
    cells: list[Cell] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    there = {c["set"] for c in cells}
    for name in () if args.finished else SETS.keys() - there:
        cells += [measured(name, noise, seed, args.out) for noise in TRUE for seed in range(SEEDS)]
        print(name, flush=True)
    cells.sort(key=lambda c: (list(SETS).index(c["set"]), list(TRUE).index(c["noise"]), c["seed"]))
    file.write_text("[\n" + ",\n".join(map(json.dumps, cells)) + "\n]\n", encoding="utf-8")
    (ROOT / PAGE).write_text(page(cells), encoding="utf-8")
    draw(cells, ROOT / PICTURE)


def measured(name: str, noise: str, seed: int, folder: Path) -> Cell:
    """The range of one set, noise and seed beside the true share."""
    x, y = split(SETS[name], seed, folder)[0]
    given = corrupted(noise, x, y, seed)
    data = LabelledData.of(x, given, classes=tuple(range(int(y.max()) + 1)))
    share = dris.clean(data, seed=seed, workers=1, check_harm=False).noise_rate
    if share is None:
        raise RuntimeError("nothing was said of how many are wrong")
    return {
        "set": name,
        "noise": noise,
        "seed": seed,
        "rows": int(y.size),
        "classes": int(y.max()) + 1,
        "wrong": round(float((given != y).mean()), 4),
        "low": round(share.low, 4),
        "high": round(share.high, 4),
        "likely": None if share.likely is None else round(share.likely, 4),
        "surest": round(share.surest, 4),
    }


def page(cells: Sequence[Cell]) -> str:
    """The whole page."""
    aside, before, large = (
        [c for c in cells if c["set"] in {one.name for one in part}] for part in PARTS.values()
    )
    lines = [
        "# How many labels are wrong? The range on data that did not choose it\n",
        f"Frozen at commit `{FREEZE}`, then run once on {len(_in_order(aside))} sets on which no "
        "range had been looked at: uniform noise of 10, 20 and 40 %, and none, "
        f"{SEEDS} seeds. Written by `python -m experiments.studies.ranges`, which says what to "
        "install; "
        "[every run](records/ranges.json).\n",
        *answer(aside),
        f"\nThe same on {len(_in_order(before))} other sets. On them it had been frozen before "
        "and what came of it looked at: 21 of them at `5e25b66` (inside in 89 % of 189 runs with "
        "noise), 24 at `0b52e26` (88 % of 216), 26 at `57e31a2` (86 % of 234):\n",
        *answer(before),
        f"\nWith more rows, on the {len(_in_order(large))} sets of [clean.md](clean.md) that have "
        "4,000 or more (1,500 of each had been looked at, and about 3,300, as here, at `0b52e26`: "
        "inside in 87 % of 234):\n",
        *answer(large),
        f"\n![The range beside the truth]({PICTURE.removeprefix('results/')})\n",
        "Lower end in per cent, mean of the seeds; *inside* and *within 5* of nine runs with "
        "noise; *contradicted* is the upper end without noise; \\* had been looked at.",
        *table(aside + before),
        "\nWith more rows:",
        *table(large),
        "",
        CHOSEN,
    ]
    return "\n".join(lines)


def table(cells: Sequence[Cell]) -> list[str]:
    """A row for every set, those whose classes are furthest apart first."""
    rows = [
        "",
        "| set | what | rows | contradicted | none | 10 % | 20 % | 40 % | inside | within 5 |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in _in_order(cells):
        mine = [c for c in cells if c["set"] == name]
        noisy = [c for c in mine if c["noise"] != "none"]
        lows = [f"{fmean(100 * c['low'] for c in mine if c['noise'] == n):.1f}" for n in TRUE]
        row = (
            *(_title(name), SETS[name].about, f"{mine[0]['rows']:,}"),
            *(f"{100 * _contradicted(cells, name):.0f}", *lows),
            *(str(sum(map(held, noisy))) for held in (_inside, _near)),
        )
        rows.append(f"| {' | '.join(row)} |")
    return rows


def answer(cells: Sequence[Cell]) -> list[str]:
    """What was aimed at and what came out."""
    names = _in_order(cells)
    apart = {name for name in names if _contradicted(cells, name) <= APART}
    wrong = [c for c in cells if c["noise"] != "none"]
    close = [c for c in wrong if c["set"] in apart]
    rest = [c for c in wrong if c["set"] not in apart]
    clean = [c["low"] for c in cells if c["set"] in apart and c["noise"] == "none"]
    said = [c for c in wrong if c["likely"] is not None]
    return [
        f"- **The truth lies inside in at least 90 % of the runs with noise: {_met(wrong)}.** In "
        f"{_share(wrong, _inside)}: in {_share(close, _inside)} where classes are apart (proxies "
        f"contradict at most {APART:.0%} of the labels without noise; {len(apart)} sets), in "
        f"{_share(rest, _inside)} elsewhere. At worst the lower end is {_worst(wrong)} points too "
        "high: labels that the data themselves give by chance count as right here.",
        f"- **The lower end is within 5 points of the truth** in {_share(close, _near)} where "
        f"classes are apart, in {_share(rest, _near)} elsewhere: there it goes down to nothing, as "
        "overlap and errors look the same.",
        "- **At most 3 % at the lower end on clean sets whose classes are apart: "
        f"{'met' if max(clean) <= 0.03 else 'missed'}.** At most {max(clean):.1%} in {len(clean)} "
        f"runs, {fmean(clean):.1%} on average.",
        "- **What is said to be likely if errors fall at random** was within 5 points in "
        f"{_share(said, _likely)}; it was said in {len(said)} of {len(wrong)} runs.",
    ]


CHOSEN = """## What chose it

Digits and Fashion-MNIST and parts of both (two, three and five classes, 270 to 600 rows), seven
made sets, and the 57 sets of [clean.md](clean.md), each of which had been looked at; with no noise,
uniform, class-dependent and confusable noise. What came before (until `acacb2e`) had the truth
inside in 77 % of 216 runs on the 24 sets that `0b52e26` was run on, within 5 points in 35 % where
classes are apart and in 42 % elsewhere, and what it called likely was within 5 points in 7 of 10.
The numbers of earlier commits come from the same command with their `src` as PYTHONPATH.
"""


def draw(cells: Sequence[Cell], file: Path) -> None:
    """A bar from end to end by set and noise, mean of the seeds, the truth on it; not `before`."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    named = {one.name for one in PARTS["before"]}
    cells = [c for c in cells if c["set"] not in named]
    names = _in_order(cells)
    figure, axis = pyplot.subplots(figsize=(7.5, 0.34 * len(names) + 1.2), layout="constrained")
    axis.margins(y=0.01)
    for place, (noise, colour) in enumerate(zip(TRUE, COLOURS, strict=True)):
        axis.axvline(100 * TRUE[noise], color=colour, linewidth=0.8, zorder=1)
        for at, name in enumerate(names):
            mine = [c for c in cells if (c["set"], c["noise"]) == (name, noise)]
            low, high = (100 * fmean(c[end] for c in mine) for end in ("low", "high"))
            height = at + 0.19 * (place - 1.5)
            label = NOISES[noise] if not at else None
            axis.plot([low, high], [height] * 2, color=colour, linewidth=3, label=label)
            axis.plot(100 * fmean(c["wrong"] for c in mine), height, "k|", markersize=5, zorder=3)
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.set_xlabel("labels that are wrong, per cent: the range, and the truth as a stroke")
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    figure.savefig(file, dpi=110)
    pyplot.close(figure)


def _title(name: str) -> str:
    return f"{name} \\*" if SETS[name] in PARTS["before"] else name


def _in_order(cells: Sequence[Cell]) -> list[str]:
    """The sets, those whose classes are furthest apart first."""
    return sorted({c["set"] for c in cells}, key=lambda name: (_contradicted(cells, name), name))


def _contradicted(cells: Sequence[Cell], name: str) -> float:
    return fmean(c["high"] for c in cells if (c["set"], c["noise"]) == (name, "none"))


def _inside(cell: Cell) -> bool:
    return bool(cell["low"] <= cell["wrong"] <= cell["high"])


def _near(cell: Cell) -> bool:
    return bool(abs(cell["low"] - cell["wrong"]) <= NEAR)


def _likely(cell: Cell) -> bool:
    return bool(abs(cell["likely"] - cell["wrong"]) <= NEAR)


def _share(cells: Sequence[Cell], held: Callable[[Cell], bool]) -> str:
    return f"{np.mean([held(c) for c in cells]):.0%} of {len(cells)}" if cells else "none"


def _met(cells: Sequence[Cell]) -> str:
    return "met" if np.mean([_inside(c) for c in cells]) >= 0.9 else "missed"


def _worst(cells: Sequence[Cell]) -> str:
    return f"{100 * max(c['low'] - c['wrong'] for c in cells):.0f}"


if __name__ == "__main__":
    main()
