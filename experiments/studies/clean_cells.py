"""What a cell of clean.py says: differences, harm checks, limits, and words for them."""

from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import Any

from experiments.studies.clean_sets import SETS

SURE, SLACK = 1.645, 1.0
DECISIONS = ("clean", "prune-50", "prune-25")
Cell = dict[str, Any]


def accuracy(cell: Cell, way: str, target: str | None = None) -> float:
    """Test accuracy in per cent, of a target or the mean of all."""
    reached = cell["accuracy"]
    return fmean(reached[one][way] for one in (reached if target is None else (target,)))


def gain(cell: Cell, way: str, other: str) -> float:
    """By how many points a way is ahead of another."""
    return accuracy(cell, way) - accuracy(cell, other)


def behind(cells: Sequence[Cell], target: str | None = None) -> float:
    """Clean less the better of everything and cleanlab, by their means over the cells."""
    ours, *theirs = (
        fmean(accuracy(c, way, target) for c in cells)
        for way in ("clean", "everything", "cleanlab")
    )
    return ours - max(theirs)


def grouped(cells: Iterable[Cell]) -> dict[tuple[str, str], list[Cell]]:
    """Cells by set and noise."""
    result: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        result.setdefault((cell["set"], cell["noise"]), []).append(cell)
    return result


def fresh(cells: Iterable[Cell]) -> list[Cell]:
    """Those of the sets that did not choose."""
    return [cell for cell in cells if not SETS[cell["set"]].chose]


def unseen(cells: Iterable[Cell]) -> list[Cell]:
    """Those of the sets on which no earlier version was run either."""
    return [cell for cell in fresh(cells) if not SETS[cell["set"]].seen]


def truth(cell: Cell, way: str) -> float:
    """What following a decision changed in truth, of what the harm check spoke about."""
    refused = f"{way}-refused"
    asked = refused if refused in cell["kept"] else way
    return gain(cell, asked, "everything")


def checks(cells: Iterable[Cell], which: str) -> list[tuple[float, float, float, Cell, str]]:
    """(said, its error, true, cell, decision) of every harm check, one kind of agreement."""
    return [
        (*cell["said"][way]["harm"][which], truth(cell, way), cell, way)
        for cell in cells
        for way in DECISIONS
        if which in cell["said"][way]["harm"]
    ]


def sides(said: float, error: float) -> int:
    """1 where the whole interval is above zero, -1 below, 0 where it cannot tell.

    >>> sides(2.0, 0.5), sides(-2.0, 0.5), sides(1.0, 1.0)
    (1, -1, 0)
    """
    return (said - SURE * error > 0) - (said + SURE * error < 0)


def disputes(cells: Iterable[Cell]) -> tuple[int, int]:
    """How often the two kinds of agreement took opposite sides, and how often plain was right."""
    cells = list(cells)
    pairs = zip(checks(cells, "plain"), checks(cells, "chance"), strict=True)
    true = [
        sides(*plain[:2]) * plain[2]
        for plain, chance in pairs
        if sides(*plain[:2]) * sides(*chance[:2]) < 0
    ]
    return len(true), sum(value > 0 for value in true)


def limits(cells: Iterable[Cell]) -> list[tuple[str, float, float]]:
    """(what became of it, limit, truth) of every decision that had one."""
    return [
        (told["limit_says"], told["limit"], told["true"])
        for cell in cells
        for told in (cell["said"][way] for way in DECISIONS)
        if told["limit"] is not None
    ]


def spread(values: Sequence[float], digits: int = 1, sign: bool = False) -> str:
    """Mean ± standard deviation (n).

    >>> spread([1.0, 2.0, 3.0]), spread([1.0], sign=True), spread([])
    ('2.0 ± 1.0 (3)', '+1.0 (1)', '–')
    """
    if not values:
        return "–"
    mean = f"{fmean(values):{'+' if sign else ''}.{digits}f}"
    more = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean}{more} ({len(values)})"


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def dropped(cell: Cell, way: str = "clean") -> float:
    """Rows dropped, in per cent."""
    return 100 * (1 - cell["kept"][way] / cell["rows"])


def inside(cell: Cell) -> bool:
    """Whether the range holds the true share."""
    low, high = cell["range"]
    return bool(low <= cell["wrong"] <= high)


def signs(result: Sequence[tuple[float, float, float, Cell, str]]) -> tuple[int, int]:
    """How many took the wrong side, and how many took one."""
    taken = [(sides(said, error), true) for said, error, true, _, _ in result]
    return sum(side * true < 0 for side, true in taken), sum(side != 0 for side, _ in taken)
