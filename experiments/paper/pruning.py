"""Static pruning at keep fraction 0.25 under four kinds of label noise (paper, table 1).

    python -m experiments pruning --scale cpu

Rules: the paper's six, and ours beside them: the gated one, and at mid on CIFAR-10 what `dris
prune` keeps, by its own proxies (small CNNs in two folds) and but for its harm check. Cost:
seconds at smoke; at cpu about two hours of one core per seed and data set; at paper about 25
GPU-minutes per target (84 targets on CIFAR-10, 72 on CIFAR-100) plus the proxies.
Claims tested: every ordering of two rules that table 1 prints, column by column, whichever way it
goes: DR-IS above Random under noise and, on CIFAR-10, below it on clean data, and all the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from experiments.dris_internals import RECOMMENDED
from experiments.records import Records
from experiments.results.claims import Claim, above
from experiments.results.figures import grouped_bars
from experiments.results.leads import Race, races_of
from experiments.results.paper_values import PRUNING
from experiments.results.statistics import printed_decides
from experiments.results.table import Printed, Table
from experiments.rules import title_of, titles_of
from experiments.scales import Scale, Setup
from experiments.spec import CLEAN, Cell, Noise

NOISES = (CLEAN, Noise("uniform", 0.1), Noise("targeted", 0.1), Noise("targeted", 0.25))
ATTACK = NOISES[-1]
PRINTED = ("random", "el2n", "forgetting", "consensus", "aum", "rank_variance")
RULES = (*PRINTED, "gated", RECOMMENDED)
COLLAPSING = ("el2n", "consensus")
_FIRST_ONLY = ("forgetting", RECOMMENDED)  # the paper has no Forgetting on CIFAR-100
KEEP = 0.25


def cells(scale: Scale) -> list[Cell]:
    """Every rule under every noise: a column after the other, the attack's first.

    What is finished early is then a column of the table under all seeds, which a page can show.
    """
    return [
        static(setup, noise, rule, seed)
        for place, setup in enumerate(scale.setups)
        for noise in (ATTACK, *NOISES[:-1])
        for seed in range(scale.seeds)
        for rule in (*PRINTED, *scale.ours)
        if place == 0 or rule not in _FIRST_ONLY
    ]


def static(setup: Setup, noise: Noise, rule: str, seed: int, keep: float = KEEP) -> Cell:
    """One target of a setup."""
    return Cell("static", setup.source, noise, setup.ensemble, rule, keep, setup.target, seed)


def tables(records: Records) -> Sequence[Table]:
    """Accuracy by data set, rule and noise."""
    return [_table(records, data) for data in data_of(records)]


def _table(records: Records, data: str) -> Table:
    printed = PRUNING.get(data, {})
    rules = {
        rule: title
        for rule, title in titles_of(RULES).items()
        if rule in printed or records.where(data=data, rule=rule, keep=KEEP)
    }
    return Table(
        f"{data}: test accuracy (%) at keep fraction {KEEP}",
        list(rules.values()),
        [str(noise) for noise in NOISES],
        {
            (title, str(noise)): records.values(
                "accuracy", data=data, noise=noise, rule=rule, keep=KEEP
            )
            for rule, title in rules.items()
            for noise in NOISES
        },
        {
            (title, str(noise)): value
            for rule, title in rules.items()
            for noise, value in zip(NOISES, printed.get(rule, ()), strict=False)
        },
    )


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Accuracy of every rule, a panel per data set."""
    return [
        grouped_bars(
            [(table.title.partition(":")[0], table) for table in tables(records)],
            "test accuracy, %",
            folder / "pruning.png",
        )
    ]


def claims(records: Records) -> Sequence[Claim]:
    """Every ordering of table 1, column by column; data that it lacks are held to CIFAR-10's."""
    result = []
    for data in data_of(records):

        def reached(rule: str, noise: Noise, data: str = data) -> dict[int, float]:
            return records.by_seed("accuracy", data=data, noise=noise, rule=rule, keep=KEEP)

        printed = PRUNING.get(data, PRUNING["cifar10"])
        for place, noise in enumerate(NOISES):
            column = {rule: values[place] for rule, values in printed.items()}
            for text, larger, smaller in orderings({r: mean for r, (mean, _) in column.items()}):
                pair = (reached(larger, noise), reached(smaller, noise))
                claim = above(f"{data}, {noise}: {text}", *pair)
                result.append(replace(claim, part=part_of(column, larger, smaller)))
        for mine in ours(records, data):
            for rival in ("rank_variance", "aum"):
                text = f"ours: {data}, {ATTACK}: {title_of(mine)} above {title_of(rival)}"
                result.append(above(text, reached(mine, ATTACK), reached(rival, ATTACK)))
    return result


def part_of(column: Mapping[str, Printed], *pair: str) -> str:
    """Which rules an ordering is of, and whether the paper's own spread decides it.

    >>> part_of({"aum": (79.69, 0.28), "random": (74.66, 0.54)}, "aum", "random")
    'Random, Forgetting, AUM and DR-IS, decided by the paper'
    """
    who = "Random, Forgetting, AUM and DR-IS"
    if set(pair) & set(COLLAPSING):
        who = "with EL2N or Consensus-loss, which collapse"
    first, second = (column[rule] for rule in pair)
    return f"{who}, {'decided' if printed_decides(first, second) else 'undecided'} by the paper"


def races(records: Records) -> Sequence[Race]:
    """The paper's rules, column by column."""
    columns = {
        f"{data}, {noise}": (
            {"data": data, "noise": noise, "keep": KEEP},
            {rule: values[at][0] for rule, values in PRUNING.get(data, {}).items()},
        )
        for data in data_of(records)
        for at, noise in enumerate(NOISES)
    }
    return races_of(records, titles_of(PRINTED), columns)


def ours(records: Records, data: str) -> list[str]:
    """Our rules as the records have them: the gated one, and what ships where it was run.

    >>> row = {"data": "a", "rule": "recommended", "seed": 0}
    >>> ours(Records("", "", (row,)), "a")
    ['gated', 'recommended']
    """
    shipped = [RECOMMENDED] if records.where(data=data, rule=RECOMMENDED) else []
    return ["gated", *shipped]


def orderings(printed: Mapping[str, float], than: str = "above") -> Iterator[tuple[str, str, str]]:
    """Every two rules of a printed column in words, and by name, the larger first.

    >>> [text for text, _, _ in orderings({"random": 74.66, "aum": 79.69, "rank_variance": 81.86})]
    ['DR-IS above AUM', 'DR-IS above Random', 'AUM above Random']
    """
    ranked = sorted(printed, key=lambda rule: printed[rule], reverse=True)
    for larger, smaller in combinations(ranked, 2):
        first, second = (title_of(rule).partition(",")[0] for rule in (larger, smaller))
        yield f"{first} {than} {second}", larger, smaller


def data_of(records: Records) -> list[str]:
    """The data sets, as they were run.

    >>> data_of(Records("", "", ({"data": "a"}, {"data": "b"}, {"data": "a"})))
    ['a', 'b']
    """
    return list(dict.fromkeys(row["data"] for row in records.rows))
