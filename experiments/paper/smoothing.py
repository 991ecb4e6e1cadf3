"""Is DR-IS-online insensitive to the smoothing ξ? (paper, appendix "Smoothing constant").

    python -m experiments smoothing --scale cpu

DR-IS-online with ξ from 0.05 to 0.5 on clean labels and under 25 % targeted noise; ξ = 0.1 and
uniform draws (ξ without end) are the cells of `online`. Cost: seconds at smoke; at cpu about ten
minutes of one core beside `online`; at paper about 25 GPU-minutes per target.
Claims tested: the accuracy is insensitive to ξ in [0.05, 0.5], which the paper found "in informal
sweeps". Insensitive is to mean within 2 points of ξ = 0.1, a fifth of what DR-IS-online gains under
attack in the paper.
"""

from collections.abc import Sequence
from pathlib import Path

from experiments.paper.online import CUTS as CUTS
from experiments.paper.online import online
from experiments.records import Records
from experiments.results.claims import Claim, within
from experiments.results.panels import line_panels
from experiments.results.table import Table
from experiments.rules import Sampler
from experiments.scales import Scale
from experiments.spec import CLEAN, Cell, Noise

NOISES = (CLEAN, Noise("targeted", 0.25))
# ξ = 0.1 is the plan's own, so its cells are those of the online experiment.
RULES = {xi: Sampler("dr_is", smoothing=xi).name for xi in (0.05, 0.1, 0.2, 0.5)}
MARGIN = 0.02


def cells(scale: Scale) -> list[Cell]:
    """Every ξ, and uniform draws, under both noises, seed by seed."""
    return [
        online(scale, noise, rule, seed)
        for seed in range(scale.seeds)
        for noise in NOISES
        for rule in ("uniform", *RULES.values())
    ]


def tables(records: Records) -> Sequence[Table]:
    """Accuracy by ξ."""
    rows = {f"ξ = {xi:g}": rule for xi, rule in RULES.items()} | {"Uniform SGD": "uniform"}
    return [
        Table(
            "DR-IS-online: test accuracy (%) by smoothing ξ",
            list(rows),
            [str(noise) for noise in NOISES],
            {
                (name, str(noise)): records.values("accuracy", rule=rule, noise=noise)
                for name, rule in rows.items()
                for noise in NOISES
            },
        )
    ]


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Accuracy against ξ, uniform draws as a level."""
    panels = {
        str(noise): (
            {
                "DR-IS-online": {
                    xi: records.values("accuracy", rule=rule, noise=noise)
                    for xi, rule in RULES.items()
                }
            },
            {"Uniform SGD": records.values("accuracy", rule="uniform", noise=noise)},
        )
        for noise in NOISES
    }
    return [
        line_panels(panels, "smoothing ξ", "test accuracy, %", folder / "smoothing.png", scale=100)
    ]


def claims(records: Records) -> Sequence[Claim]:
    """Each ξ beside the paper's 0.1, and the ends of the range beside each other."""
    pairs = [(xi, 0.1) for xi in RULES if xi != 0.1] + [(0.05, 0.5)]
    return [
        within(
            f"{noise}: ξ = {xi:g} within {100 * MARGIN:g} points of ξ = {other:g}",
            records.by_seed("accuracy", rule=RULES[xi], noise=noise),
            records.by_seed("accuracy", rule=RULES[other], noise=noise),
            MARGIN,
        )
        for noise in NOISES
        for xi, other in pairs
    ]
