"""Numbers out of records in the shapes that tables, curves and claims want."""

from collections.abc import Callable, Mapping
from functools import reduce
from operator import getitem
from typing import Any

from experiments.records import Records
from experiments.results.statistics import mean_std
from experiments.results.table import Printed, Table

Like = Mapping[str, Any]
"""Fields that a row must have, such as {"rule": "aum"}."""

Result = Mapping[str, Any]
"""What a record holds of a cell's result."""


def cross_table(
    records: Records,
    title: str,
    rows: Mapping[str, Like],
    columns: Mapping[str, Like],
    *,
    what: str = "accuracy",
    paper: Callable[[Like, Like], Printed | None] = lambda row, column: None,
    best: str | None = "largest",
    percent: bool = True,
    digits: int = 2,
) -> Table:
    """A table of what targets came to, rows by columns, the paper's value where there is one.

    A row of which neither we nor the paper have anything is left out.

    >>> row = {"kind": "static", "rule": "aum", "keep": 0.5, "seed": 0, "result": {"accuracy": 0.9}}
    >>> result = Records("", "", (row,))
    >>> cross_table(result, "t", {"AUM": {"rule": "aum"}}, {"half": {"keep": 0.5}}).values
    {('AUM', 'half'): [0.9]}
    >>> cross_table(result, "t", {"EL2N": {"rule": "el2n"}}, {"half": {"keep": 0.5}}).rows
    []
    """
    pairs = [(r, c) for r in rows for c in columns]
    printed = {(r, c): paper(rows[r], columns[c]) for r, c in pairs}
    values = {
        (r, c): records.values(what, **{"kind": "static", **rows[r], **columns[c]})
        for r, c in pairs
    }
    there = [r for r in rows if any(values[r, c] or printed[r, c] for c in columns)]
    return Table(
        title,
        there,
        list(columns),
        {pair: result for pair, result in values.items() if pair[0] in there},
        {pair: value for pair, value in printed.items() if value is not None},
        best=best,
        percent=percent,
        digits=digits,
    )


def ensemble_values(records: Records, pick: Callable[[Result], Any], **like: Any) -> dict[int, Any]:
    """One number of what was measured of an ensemble, by seed, where there is one.

    >>> row = {"kind": "ensemble", "seed": 0, "result": {"fits": [0.5, 0.7]}}
    >>> ensemble_values(Records("", "", (row,)), lambda result: max(result["fits"]))
    {0: 0.7}
    """
    result = {r["seed"]: pick(r["result"]) for r in records.where(kind="ensemble", **like)}
    return {seed: value for seed, value in result.items() if value is not None}


def pick_at(*path: str) -> Callable[[Result], Any]:
    """What lies at a path of nested names, or None; numbers in a list are averaged.

    >>> pick_at("auroc", "aum")({"auroc": {"aum": 0.9}}), pick_at("fits")({"fits": [0.5, 0.7]})
    (0.9, 0.6)
    """

    def pick(result: Result) -> Any:
        try:
            value = reduce(getitem, path, result)
        except KeyError:  # what earlier records do not have
            return None
        return mean_std(value)[0] if isinstance(value, list) else value

    return pick


def constant(value: float, like: Mapping[int, float]) -> dict[int, float]:
    """A fixed number under the seeds of others, to compare them with.

    >>> constant(0.5, {0: 0.1, 2: 0.2})
    {0: 0.5, 2: 0.5}
    """
    return dict.fromkeys(like, value)
