"""How much is corrupt: ε from 0.10 to 0.50 under the targeted attack (paper, figure 2; item 8).

    python -m experiments breakdown --scale cpu

The first data set at keep fraction 0.25; the two lower rates come from static pruning. Beside the
targets, each ensemble is measured: how well its proxies fit the corrupted labels.
Cost: seconds at smoke; at cpu about 15 minutes of one core per seed for the three higher rates; at
paper 15 targets of 25 GPU-minutes per seed and nine more proxies.
Claims tested: DR-IS decays and collapses at ε = 0.50, AUM stays flat and clean and overtakes it
between ε = 0.25 and 0.40, the proxies fit the corrupted less and less.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.paper.pruning import KEEP, static
from experiments.records import Records
from experiments.results.claims import Claim, above, falling, together, within
from experiments.results.curves import Panel, curve_panels
from experiments.results.leads import Race, races_of
from experiments.results.paper_values import BREAKDOWN, FITS_CORRUPTED
from experiments.results.reading import (
    Like,
    constant,
    cross_table,
    ensemble_values,
    pick_at,
)
from experiments.results.table import Printed, Table
from experiments.rules import title_of, titles_of
from experiments.scales import Scale, Setup
from experiments.spec import Cell, Noise

RATES = (0.10, 0.25, 0.40, 0.45, 0.50)
HIGH = RATES[2:]
RULES = ("random", "el2n", "aum", "rank_variance", "gated")
_QUANTITIES = {"accuracy": ("test accuracy", 0), "contamination": ("corrupt in the subset", 1)}


def cells(scale: Scale) -> list[Cell]:
    """Every rule at every rate, and the ensembles themselves.

    At mid these are measured without the gated rule, whose proxies would have to be trained.
    """
    setup, measures = scale.setups[0], "plain" if scale.name == "mid" else "plain+gated"
    return [
        cell
        for seed in range(scale.seeds)
        for noise in map(attack, RATES)
        for cell in [
            *(static(setup, noise, rule, seed) for rule in RULES),
            ensemble_cell_of(setup, noise, seed, measures),
        ]
    ]


def attack(rate: float) -> Noise:
    """The targeted attack at a rate.

    >>> str(attack(0.45))
    'targeted 45 %'
    """
    return Noise("targeted", rate)


def ensemble_cell_of(setup: Setup, noise: Noise, seed: int, rules: str = "plain+gated") -> Cell:
    """The measures of a setup's ensemble under noise."""
    return Cell("ensemble", setup.source, noise, setup.ensemble, rules, KEEP, None, seed)


def tables(records: Records) -> Sequence[Table]:
    """Accuracy, contamination, and the proxies' accuracy on the corrupted, by ε."""
    rows = {title: {"rule": rule} for rule, title in titles_of(RULES).items()}
    columns = {f"ε = {rate:.2f}": {"noise": attack(rate)} for rate in RATES}

    def table(what: str, percent: bool) -> Table:
        name, at = _QUANTITIES[what]

        def printed(row: Like, column: Like) -> Printed | None:
            known = BREAKDOWN.get(row["rule"], {}).get(column["noise"].rate)
            return known and (known[at], None)

        return cross_table(
            records,
            f"{name} (%)" if percent else f"fraction {name}",
            rows,
            columns,
            what=what,
            paper=printed,
            best="largest" if percent else "smallest",
            percent=percent,
            digits=2 if percent else 3,
        )

    row = "K proxies"
    fits = Table(
        "Mean accuracy of the proxies on the corrupted training labels",
        [row],
        list(columns),
        {
            (row, c): list(on_corrupted(records, like["noise"]).values())
            for c, like in columns.items()
        },
        {(row, f"ε = {rate:.2f}"): (value, None) for rate, value in FITS_CORRUPTED.items()},
        best=None,
        percent=False,
        digits=3,
    )
    return [table("accuracy", True), table("contamination", False), fits]


def on_corrupted(records: Records, noise: Noise) -> dict[int, float]:
    """The proxies' mean accuracy on the corrupted labels, by seed."""
    return ensemble_values(records, pick_at("fits_corrupted"), noise=noise)


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """The paper's three panels."""
    panels = [
        Panel(
            name,
            "corruption rate ε",
            f"{name}, %",
            {
                title: {
                    rate: [100 * v for v in records.values(what, rule=rule, noise=attack(rate))]
                    for rate in RATES
                }
                for rule, title in titles_of(RULES).items()
            },
            {
                title_of(rule): {
                    rate: values[at] * (100 if at else 1) for rate, values in known.items()
                }
                for rule, known in BREAKDOWN.items()
            },
        )
        for what, (name, at) in _QUANTITIES.items()
    ]
    proxies = Panel(
        "proxies on the corrupted",
        "corruption rate ε",
        "training accuracy, %",
        {
            "proxies": {
                rate: [100 * v for v in on_corrupted(records, attack(rate)).values()]
                for rate in RATES
            }
        },
        {"proxies": {rate: 100 * value for rate, value in FITS_CORRUPTED.items()}},
    )
    return [curve_panels([*panels, proxies], folder / "breakdown.png")]


def races(records: Records) -> Sequence[Race]:
    """The paper's rules at the rates that table 1 does not have."""
    columns = {
        f"{attack(rate)}": (
            {"noise": attack(rate)},
            {rule: known[rate][0] for rule, known in BREAKDOWN.items() if rate in known},
        )
        for rate in HIGH
    }
    return races_of(records, titles_of(RULES[:-1]), columns)


def claims(records: Records) -> Sequence[Claim]:
    """The paper's reading of figure 2."""

    def by(what: str, rule: str, rate: float) -> dict[int, float]:
        return records.by_seed(what, rule=rule, noise=attack(rate))

    def over(larger: str, smaller: str, rate: float) -> Claim:
        text = f"ε = {rate:.2f}: {title_of(larger)} above {title_of(smaller)}"
        return above(text, by("accuracy", larger, rate), by("accuracy", smaller, rate))

    gated = "gated"
    ours, dirt = "rank_variance", by("contamination", "rank_variance", 0.5)
    clean = [by("contamination", "aum", rate) for rate in RATES]
    return [
        falling(
            "DR-IS loses accuracy from ε = 0.25 to 0.45 to 0.50",
            {rate: by("accuracy", ours, rate) for rate in (0.25, 0.45, 0.5)},
        ),
        above(
            "ε = 0.50: DR-IS keeps more corruption than chance (paper: 0.560)",
            dirt,
            constant(0.5, dirt),
        ),
        within(
            "AUM is flat: accuracy at ε = 0.10 and 0.50 within 3 points",
            by("accuracy", "aum", 0.1),
            by("accuracy", "aum", 0.5),
            0.03,
        ),
        together(
            "AUM keeps less than 1 % corruption at every ε (paper: about 0.001)",
            [
                above(f"ε = {rate:.2f}", constant(0.01, dirty), dirty)
                for rate, dirty in zip(RATES, clean, strict=True)
            ],
        ),
        replace(  # the next claim has its other half
            together(
                "DR-IS's curve crosses AUM's between ε = 0.25 and 0.40",
                [over(ours, "aum", 0.25), over("aum", ours, 0.4)],
            ),
            repeats="pruning",
        ),
        together("AUM overtakes DR-IS at every ε ≥ 0.40", [over("aum", ours, r) for r in HIGH]),
        falling(
            "the proxies' accuracy on the corrupted falls at every step of ε",
            {rate: on_corrupted(records, attack(rate)) for rate in RATES},
        ),
        *(
            together(
                f"ours: {title_of(gated)} above {title_of(rival)} at every ε ≥ 0.40",
                [over(gated, rival, rate) for rate in HIGH],
            )
            for rival in ("aum", ours)
        ),
    ]
