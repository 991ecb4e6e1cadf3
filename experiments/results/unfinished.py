"""What an experiment has not run yet, in words for its page."""

from collections.abc import Collection, Sequence

from experiments.rules import title_of
from experiments.spec import Cell


def describe_unfinished(cells: Sequence[Cell], keys: Collection[str]) -> str:
    """Which rules have no seed in which columns, and whether others have fewer than all.

    `keys` are those of the cells that were run; nothing is said where all were.

    >>> from experiments.paper import pruning
    >>> from experiments.scales import SCALES
    >>> cells = pruning.cells(SCALES["smoke"])
    >>> describe_unfinished(cells, [c.key for c in cells if c.rule != "aum"])
    '48 of its 56 cells were run; not run at all: AUM, top everywhere.'
    >>> some = [c.key for c in cells if c.rule != "aum" or c.noise.kind != "uniform"]
    >>> describe_unfinished(cells, some)
    '54 of its 56 cells were run; not run at all: AUM, top (uniform 10 %).'
    >>> describe_unfinished(cells, [c.key for c in cells if c.seed == 0]).partition("; ")[2]
    'a number in brackets says how many of the 2 seeds there are.'
    """
    done = [cell for cell in cells if cell.key in keys]
    if len(done) == len(cells):
        return ""
    columns = _columns(cells)
    there = {(_row(cell), columns[cell]) for cell in done}
    absent: dict[str, list[str]] = {}  # rules by column
    for cell in cells:
        rules = absent.setdefault(columns[cell], [])
        if (_row(cell), columns[cell]) not in there and _row(cell) not in rules:
            rules.append(_row(cell))
    every = {name: {_row(c) for c in cells if columns[c] == name} for name in absent}
    told: dict[str, list[str]] = {}  # columns by rules
    for column, rules in absent.items():
        if rules:
            whole = len(rules) == len(every[column]) > 1
            told.setdefault("all rules" if whole else " / ".join(rules), []).append(column)
    parts = [
        f"{rules} everywhere" if len(where) == len(absent) else f"{rules} ({'; '.join(where)})"
        for rules, where in told.items()
    ]
    seeds = len({cell.seed for cell in cells})
    fewer = sum((_row(cell), columns[cell]) in there for cell in cells) > len(done)
    return (
        f"{len(done)} of its {len(cells)} cells were run"
        + ("; not run at all: " + "; ".join(parts) if parts else "")
        + (f"; a number in brackets says how many of the {seeds} seeds there are" if fewer else "")
        + "."
    )


def _row(cell: Cell) -> str:
    if cell.kind == "ensemble":
        return f"the proxies {cell.ensemble} themselves"
    return title_of(cell.rule) if cell.kind in ("static", "memory", "food") else cell.rule


def _columns(cells: Sequence[Cell]) -> dict[Cell, str]:
    """What tells the column of each cell from the others of its experiment."""
    words = list(map(_words, cells))
    varying = [len({*column} - {None}) > 1 for column in zip(*words, strict=True)]
    result = {}
    for cell, mine in zip(cells, words, strict=True):
        told = (word for word, tells in zip(mine, varying, strict=True) if tells)
        result[cell] = ", ".join(word for word in told if word is not None) or str(cell.noise)
    return result


def _words(cell: Cell) -> list[str | None]:
    known: list[str | None] = [cell.source.name, str(cell.noise), f"keep {cell.keep:g}"]
    if cell.target is None:
        return [*known, None, None]
    recipe = cell.target.recipe
    how = "with" if recipe.augment else "without"
    return [*known, f"{recipe.epochs} epochs", f"{how} augmentation"]
