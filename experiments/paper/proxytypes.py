"""Does the type of the proxies matter? Four ensembles on MNIST (paper, figures 4 to 6).

    python -m experiments proxytypes --scale cpu

20 % uniform noise; 10 epochs for every proxy. Ensembles: single-layer networks under many seeds,
scikit-learn's SGD with log loss under many seeds, four dense networks in turn, SGD with four losses
in turn. Cost: seconds at smoke; at cpu about ten minutes of one core (10,000 of the 60,000 images,
K up to 8); at paper about three hours of one core, no GPU needed (all images, K up to 32).
Claims tested: every type separates clean from corrupted, the type has a limited impact with a
slight edge for the single-layer network, the gap outpaces McDiarmid's radius, one proxy's AUM
separates as well or better, and AUM's scale depends on the proxy; and ours, that the gap grows with
K. The paper prints curves here, no numbers.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from experiments.assumptions import Gap
from experiments.kinds.proxytypes_cell import sizes
from experiments.records import Records, Row
from experiments.results.claims import Claim, above, within
from experiments.results.figures import gap_figure
from experiments.results.panels import histogram_panels
from experiments.results.table import Table
from experiments.scales import Scale
from experiments.setups import TYPES
from experiments.spec import Cell, Noise

CUTS = {
    "smoke": "300 digits, K = 4, 2 epochs: shows that everything runs",
    "cpu": "10,000 of the 60,000 training images and K up to 8 in place of 32",
    "paper": "nothing is cut: all of MNIST, K up to 32",
}
CUTS["mid"] = CUTS["cpu"]
NOISE = Noise("uniform", 0.2)
KEEP = 0.25
FIRST, SECOND, *_ = NAMES = list(TYPES["cpu"])  # the two that the paper's figures 5 and 6 show


def cells(scale: Scale) -> list[Cell]:
    """One per ensemble and seed."""
    return [
        Cell("proxytypes", source, NOISE, ensemble, "rank_variance", KEEP, None, seed)
        for seed in range(scale.seeds)
        for source, ensemble in TYPES[scale.name].values()
    ]


def tables(records: Records) -> Sequence[Table]:
    """What each ensemble tells apart, and its gap as K grows."""
    if not records.rows:
        return []
    largest = _largest(records)
    columns: dict[str, tuple[str, str | int]] = {
        f"gap, K = {largest}": ("gap", -1),
        "gap · K/(K−1)": ("gap_corrected", -1),
        "corrupt in DR-IS's quarter": ("contamination", "rank_variance"),
        "corrupt in AUM's quarter": ("contamination", "aum"),
        "corrupt in EL2N's quarter": ("contamination", "el2n"),
        "AUROC, rank variance": ("auroc_of_clean", "rank_variance"),
        "AUROC, AUM": ("auroc_of_clean", "aum"),
    }
    drawn = [f"K = {k}" for k in sizes(largest)]
    return [
        Table(
            f"MNIST, {NOISE}: what the disagreement of each ensemble tells apart",
            NAMES,
            list(columns),
            {
                (name, column): list(_found(records, name, *where).values())
                for name in NAMES
                for column, where in columns.items()
            },
            best=None,
            percent=False,
            digits=4,
        ),
        Table(
            f"MNIST, {NOISE}: mean rank variance, clean − corrupted, times K/(K − 1)",
            NAMES,
            drawn,
            {
                (name, column): list(_found(records, name, "gap_corrected", k - 1).values())
                for name in NAMES
                for column, k in zip(drawn, sizes(largest), strict=True)
            },
            percent=False,
            digits=4,
        ),
    ]


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """The gap against K by type; histograms of rank variance per K, and of AUM, of two types."""
    gaps = {}
    for name in NAMES:
        rows = [row["result"] for row in _rows(records, name)]
        raw, corrected, radius = (
            np.mean([row[what] for row in rows], axis=0)
            for what in ("gap", "gap_corrected", "radius")
        )
        gaps[name] = Gap(np.arange(1, len(raw) + 1), raw, corrected, radius)
    shown = {name: _rows(records, name)[0]["result"] for name in (FIRST, SECOND)}
    variance = {
        f"{name}, K = {k}": result["histograms"][str(k)]
        for name, result in shown.items()
        for k in sizes(_largest(records))
    }
    margins = {name: result["aum_histogram"] for name, result in shown.items()}
    wide = len(variance) // 2
    return [
        gap_figure(gaps, folder / "proxytypes-gap.png"),
        histogram_panels(variance, "rank variance", folder / "proxytypes-variance.png", wide=wide),
        histogram_panels(
            margins, "AUM of one proxy", folder / "proxytypes-aum.png", wide=2, log=False
        ),
    ]


def claims(records: Records) -> Sequence[Claim]:
    """The paper's findings of "Proxy type selection"."""
    if not records.rows:
        return []
    largest = _largest(records)
    result = []
    for name in NAMES:
        gap = _found(records, name, "gap", -1)
        small = _found(records, name, "gap", 1)
        nothing = dict.fromkeys(gap, 0.0)
        result += [
            above(f"{name}: the gap is positive at K = {largest}", gap, nothing, unit="variance"),
            above(
                f"ours: {name}: the gap, with the factor 1 − 1/K in it, grows from K = 2 to "
                f"{largest}",
                gap,
                small,
                unit="variance",
            ),
            above(
                f"{name}: the gap at K = {largest} outpaces McDiarmid's radius",
                gap,
                _found(records, name, "radius", -1),
                unit="variance",
            ),
            above(
                f"{name}: the quarter by AUM holds less corruption than that by rank variance",
                _found(records, name, "contamination", "rank_variance"),
                _found(records, name, "contamination", "aum"),
            ),
        ]
    for name in NAMES[1:]:
        result += [
            within(
                f"limited impact: {name} keeps as much corruption as {FIRST}, within 2 points",
                _found(records, name, "contamination", "rank_variance"),
                _found(records, FIRST, "contamination", "rank_variance"),
                0.02,
            ),
            above(
                f"the gap of {FIRST} above that of {name}",
                _found(records, FIRST, "gap", -1),
                _found(records, name, "gap", -1),
                unit="variance",
            ),
        ]
    doubled = {seed: 2 * v for seed, v in _found(records, FIRST, "aum_spread").items()}
    text = f"AUM's scale depends on the proxy: {SECOND} spreads it more than twice as far"
    result.append(above(text, _found(records, SECOND, "aum_spread"), doubled, unit="margin"))
    return result


def _rows(records: Records, name: str) -> list[Row]:
    """An ensemble's rows; it is known by its models."""
    proxies = {str(ensemble) for types in TYPES.values() for _, ensemble in [types[name]]}
    return [row for row in records.where() if row["proxies"] in proxies]


def _found(records: Records, name: str, *where: str | int) -> dict[int, float]:
    """One number of what was found, by seed."""
    out = {}
    for row in _rows(records, name):
        value = row["result"]
        for step in where:
            value = value[step]
        out[row["seed"]] = value
    return out


def _largest(records: Records) -> int:
    return len(records.rows[0]["result"]["gap"])
