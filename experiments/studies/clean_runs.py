"""What the cells of `clean` say: differences, harm checks, intervals, calibration, times.

An accuracy is the mean of its targets, a (set, noise) the mean of its seeds. *cleanlab's best* is,
of its three models, the one that does best there, chosen with the truth at hand.
"""

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import Any

import numpy as np

Cell = dict[str, Any]
Arms = dict[str, Cell]
CLEANLAB = ("cleanlab LR", "cleanlab MLP", "cleanlab trees")
NAN = float("nan")


class Runs:
    """Cells by set, noise and seed, each with its arms; only those that dris and cleanlab ran."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        by: dict[tuple[str, str, int], Arms] = {}
        for cell in cells:
            by.setdefault((cell["set"], cell["noise"], cell["seed"]), {})[cell["arm"]] = cell
        self.by = {k: a for k, a in by.items() if "clean" in a and a.keys() & {"cleanlab", "AUM"}}

    def where(self, keep: Callable[[str, str], bool]) -> "Runs":
        """Those of some sets and noises."""
        return Runs(c for (s, n, _), arms in self.by.items() if keep(s, n) for c in arms.values())

    def groups(self) -> dict[tuple[str, str], list[Arms]]:
        """The arms of every seed by set and noise."""
        result: dict[tuple[str, str], list[Arms]] = {}
        for (name, noise, _), arms in self.by.items():
            result.setdefault((name, noise), []).append(arms)
        return result

    def sets(self) -> list[str]:
        """Names, in their order."""
        return list(dict.fromkeys(name for name, _, _ in self.by))


def mean_of(seeds: Sequence[Arms], arm: str, field: str) -> float:
    """A field's mean over the seeds that have it; an accuracy's is also over targets."""
    values = [v for arms in seeds if (v := arms.get(arm, {}).get(field, {})) != {}]
    values = [fmean(v.values()) if isinstance(v, dict) else v for v in values]
    return fmean(values) if values else NAN


def best(seeds: Sequence[Arms], field: str) -> float:
    """Cleanlab's best model there, or cleanlab on given probabilities."""
    values = [mean_of(seeds, arm, field) for arm in (*CLEANLAB, "cleanlab")]
    return max((v for v in values if v == v), default=NAN)


def gains(runs: Runs, arm: str) -> dict[tuple[str, str], tuple[float, float]]:
    """By how many points an arm is ahead of everything and of cleanlab's best."""
    result = {}
    for key, seeds in runs.groups().items():
        ours = mean_of(seeds, arm, "accuracy")
        theirs = mean_of(seeds, "everything", "accuracy"), best(seeds, "accuracy")
        result[key] = ours - theirs[0], ours - theirs[1]
    return result


def ahead(runs: Runs, arm: str, *others: str) -> list[float]:
    """By how many points an arm is ahead of the best of others, by set and noise, where all ran."""
    pairs = []
    for seeds in runs.groups().values():
        ours, *theirs = (mean_of(seeds, one, "accuracy") for one in (arm, *others))
        pairs.append(ours - float(np.max(theirs)))
    return [v for v in pairs if v == v] or [NAN]


def detection(runs: Runs, field: str) -> dict[str, tuple[float, float]]:
    """Ours and cleanlab's best model's, by set: means over noises and seeds."""
    noisy = runs.where(lambda _, noise: noise != "none")
    result = {}
    for name in noisy.sets():
        seeds = [arms for (s, _, _), arms in noisy.by.items() if s == name]
        result[name] = mean_of(seeds, "clean", field), best(seeds, field)
    return result


def dropped(cell: Cell) -> float:
    """Rows dropped, in per cent."""
    return 100 * (1 - cell["kept"] / cell["rows"])


def checks(runs: Runs) -> list[tuple[float, float, float]]:
    """What each harm check said, its error and what was true, in points."""
    result = []
    for arms in runs.by.values():
        cell = arms["clean"]
        if "harm" in cell and "everything" in arms:
            true = cell.get("refused", cell["accuracy"])
            before = arms["everything"]["accuracy"]
            result.append((*cell["harm"], fmean(true.values()) - fmean(before.values())))
    return result


def suspects(runs: Runs) -> tuple[float, int, int]:
    """Over all cells: expected wrong among suspects, actually wrong, and how many there are."""
    cells = [arms["clean"] for arms in runs.by.values()]
    counts = [cell["suspects"] for cell in cells]
    expected = sum(cell["expected"] for cell in cells)
    return expected, sum(wrong for _, wrong in counts), sum(size for size, _ in counts)


def f1(seeds: Sequence[Arms], arm: str) -> float:
    """Harmonic mean of the suspects' precision and recall, over all seeds."""
    cells = [arms[arm] for arms in seeds if arm in arms]
    size, wrong = (sum(c["suspects"][k] for c in cells) for k in (0, 1))
    total = sum(round(c["wrong"] * c["rows"]) for c in cells)
    return 2 * wrong / (size + total) if total else NAN


def inside(cell: Cell) -> bool | None:
    """Whether the interval of the noise rate holds the truth; None where none was printed."""
    if cell.get("natural") or len(cell.get("rate", ())) < 3:
        return None
    _, low, high = cell["rate"]
    return bool(low <= cell["wrong"] <= high)


def covered(runs: Runs) -> list[bool]:
    """The same of all decisions that gave one."""
    held = [inside(arms["clean"]) for arms in runs.by.values()]
    return [one for one in held if one is not None]


def bins_of(runs: Runs) -> np.ndarray:
    """Rows, sum of P(wrong) and wrong labels by tenths of P(wrong)."""
    cells = [arms["clean"]["bins"] for arms in runs.by.values() if "bins" in arms["clean"]]
    return np.sum(np.array(cells), axis=0) if cells else np.zeros((3, 10))


def times(runs: Runs) -> dict[str, tuple[float, float]]:
    """Processor seconds of the whole job, and of cleanlab with trees beside it, by set."""
    cells = [arms["clean"] for arms in runs.by.values() if "beside" in arms["clean"]]
    return {c["set"]: (c["seconds"], c["beside"]) for c in cells}


def commits(runs: Runs) -> str:
    """Where the cells of dris come from."""
    names = [arms["clean"]["commit"] for arms in runs.by.values()]
    return ", ".join(f"`{c}` ({names.count(c)} cells)" for c in dict.fromkeys(names))


def seeds_of(runs: Runs) -> str:
    """How many cells there are, by noise and seed."""
    counts: dict[str, dict[int, int]] = {}
    for _, noise, seed in runs.by:
        of = counts.setdefault(noise, {})
        of[seed] = of.get(seed, 0) + 1
    told = (f"{noise} {' + '.join(map(str, of.values()))}" for noise, of in counts.items())
    return f"Sets by noise and seed: {', '.join(told)}."
