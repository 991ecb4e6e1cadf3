"""The paper's three theorems on trained ensembles: what they assume, promise, and what is measured.

    dris reproduce theorems --scale cpu

K proxies, stacked heads, on digits and Fashion-MNIST under the targeted attack; Theorem 1's
assumptions estimated on disjoint ensembles of 8, 16, … of them, whose spread is the interval.
Cost: seconds at smoke; at cpu about ten minutes of one core (12 ensembles of 64).
Claims tested: the paper's sentences about Δ' > 0 on the bulk, in its own reading (the boundary's
median) and by what assumption 3 says (every boundary example); equation 6 above the measured
contamination; Theorem 2's floors under the measured mass; Theorem 3's bound under AUM's AUROC.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from dris.bench.kinds.proved_cell import MAGNITUDES, whole
from dris.bench.paper.pruning import KEEP, data_of
from dris.bench.records import Records
from dris.bench.results.claims import Claim, above, together
from dris.bench.results.curves import Panel, curve_panels
from dris.bench.results.reading import Found, constant
from dris.bench.results.table import Table
from dris.bench.scales import Scale
from dris.bench.spec import Cell, Ensemble, Noise, Source
from dris.core.choose.rules import title_of
from dris.learn.recipe import Recipe

TITLE = "The theorems on trained ensembles"
NOISES = (Noise("targeted", 0.1), Noise("targeted", 0.25))
_HOW = Recipe(20, 64, 0.05, augment=False)
_ATTACK = Recipe(20, 64, 0.05, scored_epoch=20, augment=False)


def _heads(count: int, how: Recipe = _HOW, attack: Recipe = _ATTACK) -> Ensemble:
    return Ensemble(("mlp",), count, how, "mlp", attack)


_CPU = (
    (Source("digits"), _heads(64)),
    (Source("fashion-mnist", 4_000, 2_000, 14), _heads(64)),
)
_TINY = Recipe(4, 64, 0.05, augment=False)
BEDS: dict[str, tuple[tuple[Source, Ensemble], ...]] = {
    "smoke": ((Source("digits", 300, 200), _heads(16, _TINY, _TINY)),),
    "cpu": _CPU,
    "mid": _CPU,
    "paper": _CPU,
}
_SAME = (
    "64 stacked heads of one hidden layer on all digits and on 4,000 images of Fashion-MNIST at "
    "14 × 14 pixels, 20 epochs, scored at 10"
)
CUTS = {
    "smoke": "300 digits, 16 heads, 4 epochs: shows that everything runs",
    "cpu": _SAME,
    "mid": f"as at cpu: {_SAME}",
    "paper": f"as at cpu, the paper has no such study: {_SAME}",
}
SHOWN = {
    "tau": "τ̂",
    "gamma": "γ̂",
    "bulk": "τ̂²/4 + γ̂",
    "v_tail": "v_tail",
    "boundary": "τ̂²_bdry, median",
    "boundary_least": "τ̂²_bdry, least",
    "delta": "Δ′, median",
    "delta_least": "Δ′, least",
    "delta_measured": "Δ′, bulk as measured",
    "twice_radius": "2 · radius",
    "eq6": "eq. 6",
    "contamination": "measured",
}


def cells(scale: Scale) -> list[Cell]:
    """One ensemble per data set, noise and seed."""
    return [
        Cell("proved", source, noise, ensemble, "theorems", KEEP, None, seed)
        for source, ensemble in BEDS[scale.name]
        for noise in NOISES
        for seed in range(scale.seeds)
    ]


def columns_of(records: Records) -> list[tuple[str, str]]:
    """(data, noise), as they were run."""
    found = [(data, str(noise)) for data in data_of(records) for noise in NOISES]
    return [(data, noise) for data, noise in found if records.where(data=data, noise=noise)]


def tables(records: Records) -> Sequence[Table]:
    """Theorem 1 by K, then Theorems 2 and 3."""
    found = []
    for data, noise in columns_of(records):
        rows = [row["found"]["separation"] for row in records.where(data=data, noise=noise)]
        sizes = sorted({int(k) for row in rows for k in row})
        found.append(
            Table(
                f"{data}, {noise}: Theorem 1 by K, mean ± deviation over disjoint ensembles",
                [f"K = {k}" for k in sizes],
                list(SHOWN.values()),
                {
                    (f"K = {k}", title): [v for row in rows for v in row.get(str(k), {})[name]]
                    for k in sizes
                    for name, title in SHOWN.items()
                },
                best=None,
                percent=False,
                digits=4,
            )
        )
    columns = {f"{data}, {noise}": (data, noise) for data, noise in columns_of(records)}
    if not columns:
        return []
    second = {
        f"{title_of(rule)}: {title}": _mass(rule, name)
        for rule in MAGNITUDES
        for name, title in (
            ("mass", "corrupt share of the draws"),
            ("mass_floor", "its floor"),
            ("ratio", "corrupt to clean"),
            ("ratio_floor", "its floor (ratio)"),
        )
    }
    third = {
        "AUROC of AUM, one run": _aum("auroc"),
        "bound, scales as standard deviations": _aum("guess"),
        "bound, scales as half ranges": _aum("bound"),
    }
    for title, picks in (
        ("Theorem 2: what magnitude scores draw", second),
        ("Theorem 3: AUM beside its bound", third),
    ):
        found.append(
            Table(
                title,
                list(picks),
                list(columns),
                {
                    (row, column): [pick(r["found"]) for r in records.where(data=data, noise=noise)]
                    for row, pick in picks.items()
                    for column, (data, noise) in columns.items()
                },
                best=None,
                percent=False,
                digits=4,
            )
        )
    return found


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """What Δ' is made of, as K grows."""
    names = ("bulk", "bulk_measured", "boundary", "boundary_least")
    titles = {**SHOWN, "bulk_measured": "bulk's largest, measured"}
    panels = []
    for data, noise in columns_of(records):
        rows = [row["found"]["separation"] for row in records.where(data=data, noise=noise)]
        curves = {
            titles[name]: {float(k): [v for row in rows for v in row[k][name]] for k in rows[0]}
            for name in names
        }
        panels.append(Panel(f"{data}, {noise}", "K", "variance of a rank", curves))
    return [curve_panels(panels, folder / "theorems.png", wide=2)]


def claims(records: Records) -> Sequence[Claim]:
    """The paper's sentences, one by one, on the largest ensembles."""
    found = []
    for data, noise in columns_of(records):
        rows = records.where(data=data, noise=noise)

        def by(pick: Callable[[Found], float], rows: Sequence[Found] = rows) -> dict[int, float]:
            return {row["seed"]: pick(row["found"]) for row in rows}

        at, delta = f"{data}, {noise}", by(part("delta"))
        zero = constant(0.0, delta)
        found += [
            above(f"{at}: Δ′ > 0 on the bulk, at the boundary's median", delta, zero, unit=""),
            above(
                f"{at}: Δ′ outpaces twice the radius, so that equation 6 applies",
                delta,
                by(part("twice_radius")),
                unit="",
            ),
            above(
                f"{at}: equation 6 above the measured contamination",
                by(part("eq6")),
                by(part("contamination")),
            ),
            above(
                f"another reading of assumption 3, {at}: Δ′ > 0 for every boundary example",
                by(part("delta_least")),
                zero,
                unit="",
            ),
            above(
                f"another reading of the bulk, {at}: its largest variance, chosen and measured on "
                "the same proxies, lies below the boundary's median",
                by(part("boundary")),
                by(part("bulk_measured")),
                unit="",
            ),
            together(
                f"{at}: Theorem 2, magnitude scores draw more of the corrupt than their floor",
                [
                    above(title_of(rule), by(_mass(rule, "mass")), by(_mass(rule, "mass_floor")))
                    for rule in MAGNITUDES
                ],
            ),
            above(
                f"{at}: Theorem 3, AUM's AUROC above its bound",
                by(_aum("auroc")),
                by(_aum("bound")),
                unit="",
            ),
        ]
    return found


def part(name: str) -> Callable[[Found], float]:
    """One of Theorem 1's numbers, of the largest ensemble.

    >>> part("tau")({"separation": {"8": {"tau": [0.5, 0.3]}}})
    0.4
    """
    return lambda found: float(np.mean(whole(dict(found))[name]))


def _mass(rule: str, name: str) -> Callable[[Found], float]:
    return lambda found: float(found["mass"][rule][name])


def _aum(name: str) -> Callable[[Found], float]:
    return lambda found: float(found["aum"][name])
