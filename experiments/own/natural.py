"""What people's own label errors leave in each rule's quarter, and what targets make of it (ours).

    python -m experiments natural --scale cpu

CIFAR-10N: three sets of labels that people gave CIFAR-10's training images, a majority's (9 %
wrong), one person's (17 %) and the worst of three (40 %), at 32 pixels. The paper's rules, and
Forgetting as its authors count it; targets as in static pruning. The file cifar-10n.npz is copied
by hand (`python -m experiments data cifar10n` says where to); smoke has digits under uniform noise.
Cost: seconds at smoke; at cpu about 6 minutes of one core for a label set and seed, at mid half an
hour; at paper as a column of table 1.
Claims tested: none of the paper's tables; on Food-101's natural errors it finds rank variance's
subset as noisy as Random's, and these ask the same of CIFAR-10N.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from experiments.dris_internals import Recipe
from experiments.paper.pruning import KEEP, PRINTED, static
from experiments.records import Records
from experiments.results.claims import Claim, above
from experiments.results.figures import grouped_bars
from experiments.results.leads import Race, races_of
from experiments.results.reading import cross_table
from experiments.results.statistics import mean_std
from experiments.results.table import Table
from experiments.rules import titles_of
from experiments.scales import Scale, Setup
from experiments.spec import Cell, Ensemble, Noise, Source, Target

CUTS = {
    "smoke": "400 digits under uniform noise, few epochs: shows that everything runs",
    "cpu": "8,000 of the 50,000 training images at their 32 × 32 pixels, 5,000 test images; three "
    "small CNNs (12 epochs, scored at 6) and targets (8 epochs of steps, without augmentation), in "
    "bfloat16",
    "mid": "20,000 of the 50,000 training images and all test images; networks as in static "
    "pruning at mid",
    "paper": "all images, networks as in the paper's static pruning; the study is ours",
}
OURS: tuple[str, ...] = ()
"""Rules of the library beside the paper's, such as "recommended" for what `dris prune` keeps."""
RULES = (*PRINTED, "forgetting_unlearned", *OURS)
NOISES = (Noise("aggregate", 0.09), Noise("random1", 0.17), Noise("worse", 0.4))
_SEEDS = {"smoke": 2, "cpu": 2, "mid": 2, "paper": 3}
_HOW = Recipe(12, 128, 0.05, mixed_precision="everywhere")


def _setup(scale: Scale) -> Setup:
    first = scale.setups[0]
    if scale.name == "smoke":
        return first
    if scale.name != "cpu":
        return replace(first, source=replace(first.source, name="cifar10n"))
    target = replace(_HOW, epochs=8, learning_rate=0.1, augment=False)
    return Setup(
        "CIFAR-10N",
        Source("cifar10n", 8_000, 5_000),
        Ensemble(("small_cnn",), 3, _HOW, "small_cnn", _HOW),
        Target("small_cnn", target),
    )


def cells(scale: Scale) -> list[Cell]:
    """Every rule under every label set, seed by seed."""
    noises = (Noise("uniform", 0.2),) if scale.name == "smoke" else NOISES
    return [
        static(_setup(scale), noise, rule, seed)
        for seed in range(min(_SEEDS[scale.name], scale.seeds))
        for noise in noises
        for rule in RULES
    ]


def noises_of(records: Records) -> list[str]:
    """The label sets that were run, in their order."""
    return list(dict.fromkeys(row["noise"] for row in records.rows))


def tables(records: Records) -> Sequence[Table]:
    """What is wrong in each quarter, and what its target reaches."""
    rows = {title: {"rule": rule} for rule, title in titles_of(RULES).items()}
    columns = {noise: {"noise": noise} for noise in noises_of(records)}
    return [
        cross_table(
            records,
            "Wrong labels in the quarter that is kept (%)",
            rows,
            columns,
            what="contamination",
            best="smallest",
        ),
        cross_table(records, f"Test accuracy (%) at keep fraction {KEEP}", rows, columns),
    ]


def words(records: Records) -> Sequence[str]:
    """How much of the wrong labels rank variance leaves out, beside Random and AUM."""
    told = []
    for noise in noises_of(records):
        found = [
            records.values("contamination", noise=noise, rule=rule)
            for rule in ("rank_variance", "random", "aum")
        ]
        if all(found):
            dris, random, aum = (100 * mean_std(values)[0] for values in found)
            told.append(f"- {noise}: {dris:.1f} % of DR-IS's quarter is wrong, {random:.1f} % of "
                        f"Random's, {aum:.1f} % of AUM's (n = {len(found[0])}).")  # fmt: skip
    finding = (
        "On Food-101's natural errors the paper finds DR-IS's subset as noisy as Random's. Here:"
    )
    return [finding, "\n".join(told)] if told else []


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Both tables, a panel each."""
    panels = [(table.title, table) for table in tables(records)]
    return [grouped_bars(panels, "%", folder / "natural.png")]


def races(records: Records) -> Sequence[Race]:
    """The paper's rules under every label set."""
    columns = {
        f"people's labels, {noise}": ({"noise": noise}, dict[str, float]())
        for noise in noises_of(records)
    }
    return races_of(records, titles_of(PRINTED), columns)


def claims(records: Records) -> Sequence[Claim]:
    """Whether rank variance filters natural errors, beside AUM and EL2N, and what targets gain."""
    result = []
    for noise in noises_of(records):

        def of(what: str, rule: str, noise: str = noise) -> dict[int, float]:
            return records.by_seed(what, noise=noise, rule=rule)

        for larger, smaller, text in (
            ("random", "rank_variance", "DR-IS keeps fewer wrong labels than Random"),
            ("rank_variance", "aum", "AUM keeps fewer wrong labels than DR-IS"),
            ("el2n", "random", "EL2N keeps more wrong labels than Random"),
        ):
            pair = [of("contamination", rule) for rule in (larger, smaller)]
            result.append(above(f"ours: {noise}: {text}", *pair))
        for rival, name in (("random", "Random"), ("aum", "AUM")):
            pair = [of("accuracy", rule) for rule in ("rank_variance", rival)]
            result.append(above(f"ours: {noise}: DR-IS's target above {name}'s", *pair))
    return result
