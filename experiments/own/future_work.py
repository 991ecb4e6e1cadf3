"""What the paper names for later: noise on inputs, balance of the subset, the scoring epoch.

    python -m experiments future_work --scale cpu

Stacked heads on digits and Fashion-MNIST judge; the noise is on labels (targeted), on the inputs
of a quarter of the examples (heavy noise, or contrast turned round), or there is none. Each rule's
quarter is looked at for what was touched, for classes and subgroups (two clusters of each class),
and a fully connected target is trained on it with step parity. The scoring epoch is swept, and the
one of the smallest held-out loss, which needs no truth, stands beside half of the epochs.
Cost: seconds at smoke; at cpu about ten minutes of one core (24 cells of 4 targets).
Claims tested: ours. DR-IS avoids disturbed inputs as it avoids wrong labels; it keeps classes less
evenly than Random and more of the minorities; the held-out loss finds as good an epoch as half of
them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.dris_internals import Recipe
from experiments.kinds.future_work_cell import RULES
from experiments.paper.pruning import KEEP, data_of
from experiments.records import Records, counts
from experiments.results.claims import Claim, above, within
from experiments.results.curves import Panel, curve_panels
from experiments.results.table import Table
from experiments.rules import title_of
from experiments.scales import Scale
from experiments.spec import CLEAN, Cell, Ensemble, Noise, Source, Target

LABELS, FEATURES, SHIFT = Noise("targeted", 0.25), Noise("features", 0.25), Noise("shift", 0.25)
NOISES = (CLEAN, LABELS, FEATURES, SHIFT)
_HOW, _LAST = (
    Recipe(20, 64, 0.05, augment=False),
    Recipe(20, 64, 0.05, 0.9, 5e-4, 20, augment=False),
)
_TINY = Recipe(4, 64, 0.05, augment=False)
_TARGET = Target("fc", Recipe(20, 128, 0.05, augment=False))
_CPU = (
    (Source("digits"), Ensemble(("mlp",), 4, _HOW, "mlp", _LAST), _TARGET),
    (Source("fashion-mnist", 3_000, 3_000, 14), Ensemble(("mlp",), 4, _HOW, "mlp", _LAST), _TARGET),
)
SETUPS: Mapping[str, Sequence[tuple[Source, Ensemble, Target]]] = {
    "smoke": (
        (
            Source("digits", 400, 300),
            Ensemble(("mlp",), 3, _TINY, "mlp", _TINY),
            Target("linear", _TINY),
        ),
    ),
    "cpu": _CPU,
    "mid": _CPU,
    "paper": _CPU,
}
_SAME = (
    "all digits and 3,000 images of Fashion-MNIST at 14 × 14 pixels; 4 stacked heads for 20 "
    "epochs, scored at 10; a fully connected target for 20"
)
CUTS = {
    "smoke": "400 digits, 4 epochs: shows that everything runs",
    "cpu": _SAME,
    "mid": f"as at cpu: {_SAME}",
    "paper": f"as at cpu, the paper has no such study: {_SAME}",
}
SHOWN = {
    "accuracy": "test accuracy (%)",
    "worst_class": "accuracy of the worst class (%)",
    "worst_subgroup": "accuracy of the worst subgroup (%)",
}
EVEN = {
    "contamination": "share of the quarter that the noise touched",
    "smallest_class": "least class share over that of the data (1 is even)",
    "moved": "share of the quarter that changed class balance",
    "minority": "minority subgroups over their share in the data (1 is even)",
}


def cells(scale: Scale) -> list[Cell]:
    """Every data set under every noise, seed by seed."""
    return [
        Cell("future_work", source, noise, ensemble, "all", KEEP, target, seed)
        for source, ensemble, target in SETUPS[scale.name]
        for noise in NOISES
        for seed in range(scale.seeds)
    ]


def at(records: Records, data: str, noise: Noise, rule: str, what: str) -> dict[int, float]:
    """One number of a rule's subset, by seed, of targets that support a claim."""
    rows = records.where(data=data, noise=noise)
    result = {row["seed"]: row["result"]["rules"][rule] for row in rows}
    return {seed: mine[what] for seed, mine in result.items() if counts(mine)}


def looked(records: Records, data: str, noise: Noise, what: str) -> dict[int, float]:
    """One number of the sweep of epochs, by seed."""
    rows = records.where(data=data, noise=noise)
    return {row["seed"]: row["result"]["epochs"][what] for row in rows}


def tables(records: Records) -> Sequence[Table]:
    """Accuracies and balance by rule and noise, then the scoring epoch."""
    result = []
    for data in data_of(records):
        for group, percent, digits in ((SHOWN, True, 1), (EVEN, False, 3)):
            result += [
                Table(
                    f"{data}: {title}",
                    [title_of(rule) for rule in RULES],
                    [str(noise) for noise in NOISES],
                    {
                        (title_of(rule), str(noise)): list(
                            at(records, data, noise, rule, what).values()
                        )
                        for rule in RULES
                        for noise in NOISES
                    },
                    best="largest" if percent else None,
                    percent=percent,
                    digits=digits,
                )
                for what, title in group.items()
            ]
        looks = {
            "held_out": "epoch of the smallest held-out loss",
            "at_held_out": "touched in DR-IS's quarter there",
            "at_half": "touched at half of the epochs",
            "best": "touched at the best epoch, by the truth",
        }
        result.append(
            Table(
                f"{data}: the scoring epoch",
                list(looks.values()),
                [str(noise) for noise in NOISES[1:]],
                {
                    (title, str(noise)): list(looked(records, data, noise, what).values())
                    for what, title in looks.items()
                    for noise in NOISES[1:]
                },
                best=None,
                percent=False,
                digits=3,
            )
        )
    return result


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """What DR-IS's quarter holds of the touched, by scoring epoch."""
    panels = []
    for data in data_of(records):
        curves = {}
        for noise in NOISES[1:]:
            rows = [row["result"]["epochs"] for row in records.where(data=data, noise=noise)]
            points: dict[float, list[float]] = {}
            for row in rows:
                for epoch, value in zip(row["epochs"], row["contamination"], strict=True):
                    points.setdefault(epoch, []).append(100 * value)
            curves[str(noise)] = points
        panels.append(Panel(data, "scoring epoch", "touched in DR-IS's quarter, %", curves))
    return [curve_panels(panels, folder / "future_work.png")]


def claims(records: Records) -> Sequence[Claim]:
    """Ours, all of them."""
    result = []
    for data in data_of(records):

        def of(
            rule: str, noise: Noise, what: str = "contamination", data: str = data
        ) -> dict[int, float]:
            return at(records, data, noise, rule, what)

        for noise in (FEATURES, SHIFT):
            text = f"ours: {data}, {noise}: DR-IS keeps fewer disturbed inputs than Random"
            result.append(above(text, of("random", noise), of("rank_variance", noise)))
            text = f"ours: {data}, {noise}: DR-IS reaches more than Random"
            pair = (of(rule, noise, "accuracy") for rule in ("rank_variance", "random"))
            result.append(above(text, *pair))
        for noise in (CLEAN, LABELS):
            text = f"ours: {data}, {noise}: DR-IS moves the balance of classes more than Random"
            pair = (of(rule, noise, "moved") for rule in ("rank_variance", "random"))
            result.append(above(text, *pair))
            text = f"ours: {data}, {noise}: DR-IS keeps more of the minority subgroups than Random"
            pair = (of(rule, noise, "minority") for rule in ("rank_variance", "random"))
            result.append(above(text, *pair, unit=""))
            text = (
                f"ours: {data}, {noise}: the worst class fares better with DR-IS than with Random"
            )
            pair = (of(rule, noise, "worst_class") for rule in ("rank_variance", "random"))
            result.append(above(text, *pair))
        result += [
            within(
                f"ours: {data}, {noise}: scored where the held-out loss is smallest, DR-IS keeps "
                "as much of the noise as at half of the epochs, within 2 points",
                looked(records, data, noise, "at_held_out"),
                looked(records, data, noise, "at_half"),
                0.02,
            )
            for noise in NOISES[1:]
        ]
    return result
