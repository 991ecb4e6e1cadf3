"""How much is kept: α of 0.25, 0.5 and 0.75 under the targeted attack (paper, table 6; item 7).

    python -m experiments keep --scale cpu

The quarter comes from static pruning; the other two take 12 more targets per seed and data set.
Cost: seconds at smoke; at cpu about 6 minutes of one core per seed and data set; at paper about
25 GPU-minutes per target.
Claims tested: DR-IS above Random and the magnitude scores below it at every α; AUM overtakes DR-IS
from α = 0.5 on CIFAR-10 and at α = 0.75 on CIFAR-100.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.paper.pruning import ATTACK, KEEP, data_of, static
from experiments.records import Records
from experiments.results.claims import Claim, above
from experiments.results.curves import Panel, curve_panels
from experiments.results.leads import Race, races_of
from experiments.results.paper_values import KEEP_SWEEP
from experiments.results.reading import Like, cross_table
from experiments.results.table import Printed, Table
from experiments.rules import title_of, titles_of
from experiments.scales import Scale
from experiments.spec import Cell

KEEPS = (0.25, 0.5, 0.75)
RULES = ("random", "el2n", "consensus", "aum", "rank_variance", "gated")
_OVERTAKEN = {"cifar10": (0.5, 0.75), "cifar100": (0.75,)}
"""Where the paper has AUM above DR-IS."""


def cells(scale: Scale) -> list[Cell]:
    """Every rule at every keep fraction, seed by seed."""
    return [
        static(setup, ATTACK, rule, seed, keep)
        for seed in range(scale.seeds)
        for setup in scale.setups
        for keep in KEEPS
        for rule in RULES
    ]


def tables(records: Records) -> Sequence[Table]:
    """Accuracy, then contamination, by rule and α."""
    rows = {title: {"rule": rule} for rule, title in titles_of(RULES).items()}
    result = []
    for data in data_of(records):
        columns = {f"α = {keep:g}": {"data": data, "keep": keep} for keep in KEEPS}
        title = f"{data}, {ATTACK}"
        result += [
            cross_table(records, f"{title}: test accuracy (%)", rows, columns, paper=_printed),
            cross_table(
                records,
                f"{title}: fraction corrupt in the subset",
                rows,
                columns,
                what="contamination",
                best="smallest",
                percent=False,
                digits=3,
            ),
        ]
    return result


def _printed(row: Like, column: Like) -> Printed | None:
    known = KEEP_SWEEP.get(column["data"], {}).get(row["rule"])
    return None if known is None else known[KEEPS.index(column["keep"])]


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Accuracy against α, a panel per data set."""
    panels = [
        Panel(
            data,
            "keep fraction α",
            "test accuracy, %",
            {
                title: {
                    keep: [
                        100 * value
                        for value in records.values("accuracy", data=data, rule=rule, keep=keep)
                    ]
                    for keep in KEEPS
                }
                for rule, title in titles_of(RULES).items()
            },
            {
                title_of(rule): {keep: mean for keep, (mean, _) in zip(KEEPS, printed, strict=True)}
                for rule, printed in KEEP_SWEEP.get(data, {}).items()
            },
        )
        for data in data_of(records)
    ]
    return [curve_panels(panels, folder / "keep.png")]


def races(records: Records) -> Sequence[Race]:
    """The paper's rules at every keep fraction that table 1 does not have."""
    columns = {
        f"{data}, {ATTACK}, α = {keep:g}": (
            {"data": data, "keep": keep},
            {rule: values[at][0] for rule, values in KEEP_SWEEP.get(data, {}).items()},
        )
        for data in data_of(records)
        for at, keep in enumerate(KEEPS)
        if keep != KEEP
    }
    return races_of(records, titles_of(RULES[:-1]), columns)


def claims(records: Records) -> Sequence[Claim]:
    """The paper's reading of table 6, per data set and α."""
    result, gated = [], "gated"
    for data in data_of(records):
        for keep in KEEPS:

            def over(larger: str, smaller: str, data: str = data, keep: float = keep) -> Claim:
                pair = [
                    records.by_seed("accuracy", data=data, rule=rule, keep=keep)
                    for rule in (larger, smaller)
                ]
                ours = "ours: " if gated in (larger, smaller) else ""
                text = f"{ours}{data}, α = {keep:g}: {title_of(larger)} above {title_of(smaller)}"
                return replace(above(text, *pair), repeats="pruning" if keep == KEEP else "")

            result += [
                over("rank_variance", "random"),
                over("random", "el2n"),
                over("random", "consensus"),
            ]
            if keep in _OVERTAKEN.get(data, ()):
                result.append(over("aum", "rank_variance"))
            else:
                result.append(over("rank_variance", "aum"))
            result += [over(gated, "rank_variance"), over(gated, "aum")]
    return result
