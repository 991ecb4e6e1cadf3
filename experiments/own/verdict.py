"""What `dris judge` says of each noise, and whether its limits hold (ours, not the paper's).

    python -m experiments verdict --scale cpu

Uniform canaries in 4 % of the labels, half of them certify; the ensembles are those that the gated
rule of the other experiments looks at, so nothing new is trained. Cost: seconds once they are
finished. Claims tested: the limits on wrong labels, in the data and in what is kept, lie above the
true shares, and noisy data are doubted more than clean ones. Uniform canaries promise nothing about
targeted noise; where a limit breaks there, the check "hiding" has to fail.
"""

from collections.abc import Sequence
from pathlib import Path

from experiments.paper.pruning import NOISES, data_of
from experiments.records import Records, Row
from experiments.results.claims import Claim, above
from experiments.results.figures import grouped_bars
from experiments.results.table import Table
from experiments.scales import Scale
from experiments.spec import CLEAN, Cell, Noise

HEAVIER = (Noise("targeted", 0.4), Noise("targeted", 0.5))
SHOWN = {
    "doubted": "labels that most proxies doubt",
    "epsilon": "wrong labels in the data",
    "epsilon_limit": "limit on them",
    "wrong": "wrong labels in what is kept",
    "limit": "limit on those",
}


def cells(scale: Scale) -> list[Cell]:
    """One verdict per data set, noise and seed; heavier noise on the first data set."""
    return [
        Cell("verdict", setup.source, noise, setup.ensemble, "judge", 0.25, None, seed)
        for seed in range(scale.seeds)
        for place, setup in enumerate(scale.setups)
        for noise in (*NOISES, *(HEAVIER if place == 0 else ()))
    ]


def tables(records: Records) -> Sequence[Table]:
    """Shares of wrong labels and their limits, then how often each regime was recognised."""
    result = []
    for data in data_of(records):
        noises = list(dict.fromkeys(row["noise"] for row in records.where(data=data)))
        values = {
            (label, noise): [
                v for v in records.values(what, data=data, noise=noise) if v is not None
            ]
            for what, label in SHOWN.items()
            for noise in noises
        }
        title = f"{data}: limits at confidence 0.95 (%)"
        result.append(Table(title, list(SHOWN.values()), noises, values, best=None))
        regimes = list(dict.fromkeys(row["result"]["regime"] for row in records.where(data=data)))
        shares = {
            (regime, noise): [
                float(v == regime) for v in records.values("regime", data=data, noise=noise)
            ]
            for regime in regimes
            for noise in noises
        }
        title = f"{data}: seeds in which this regime was recognised (%)"
        result.append(Table(title, regimes, noises, shares, best=None, digits=0))
    return result


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """The shares and their limits, a panel per data set."""
    panels = [(t.title, t) for t in tables(records) if t.rows == list(SHOWN.values())]
    return [grouped_bars(panels, "% of labels", folder / "verdict.png")]


def claims(records: Records) -> Sequence[Claim]:
    """Limits above what they limit, and doubt that grows with noise."""
    result = []
    for data in data_of(records):

        def share(what: str, noise: Noise, data: str = data) -> dict[int, float]:
            rows = records.by_seed(what, data=data, noise=noise)
            return {seed: value for seed, value in rows.items() if value is not None}

        for noise in NOISES[1:]:
            at = f"ours: {data}, {noise}"
            text = f"{at}: the limit on wrong labels in the data is above their share"
            result.append(above(text, share("epsilon_limit", noise), share("epsilon", noise)))
            text = f"{at}: the limit on wrong labels kept is above their share"
            result.append(above(text, share("limit", noise), share("wrong", noise)))
            text = f"{at}: more labels are doubted than on clean data"
            result.append(above(text, share("doubted", noise), share("doubted", CLEAN)))
        result += [_hidden(data, row) for row in records.where(data=data) if _broken(row)]
    return result


def _broken(row: Row) -> bool:
    return row["result"]["limit"] is not None and row["result"]["wrong"] > row["result"]["limit"]


def _hidden(data: str, row: Row) -> Claim:
    """A limit that broke: was it announced?"""
    warned = "hiding" in row["result"]["fails"]
    text = f"ours: {data}, {row['noise']}, seed {row['seed']}: a limit that breaks is announced"
    numbers = (
        f"{100 * row['result']['wrong']:.1f} % wrong, limit {100 * row['result']['limit']:.1f} %"
    )
    told = ", ".join(row["result"]["fails"]) or "none"
    return Claim(text, "reproduced" if warned else "contradicted", f"{numbers}; failed: {told}")
