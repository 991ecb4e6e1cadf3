"""Food-101 with pretrained backbones (paper, table 4): natural noise, and an attack on top of it.

    python -m experiments food --scale cpu

E1 is the data as they are, about 5 % mislabelled by nature; E2 has 25 % targeted noise as well.
Proxies are linear probes on three frozen ImageNet backbones, the target is a fourth network whose
last block and classifier are fine-tuned on half of the data. For E1 a reference trained on the
test set marks the training examples whose label it would not give: candidate noise.
Cost: seconds at smoke, with random backbones; at cpu about half an hour of one core (10 of the 101
classes, 375 training and 125 test images each at 128 pixels; EfficientNet-Lite 0, 1 and 2 as
backbones, Lite0's last block as target for 4 and 2 epochs of steps where the paper has 50 and 25,
without augmentation); at paper one GPU-hour per target of E1 and half of one of E2.
Claims tested: DR-IS level with Random under natural noise, and its subset no cleaner than chance;
AUM cleaner than chance and below Random there; under attack DR-IS above Random and cleaner than
EL2N, EL2N below Random, AUM above DR-IS.
"""

from collections.abc import Sequence
from pathlib import Path

from experiments.records import Records
from experiments.results.claims import Claim, above, within
from experiments.results.panels import bar_panels
from experiments.results.paper_values import FOOD as PAPER
from experiments.results.table import Printed, Table
from experiments.rules import title_of, titles_of
from experiments.scales import Scale
from experiments.setups import FOOD
from experiments.spec import CLEAN, Cell, Noise

CUTS = {
    "smoke": "200 digits drawn as pictures, random backbones: shows that everything runs",
    "cpu": "10 of the 101 classes with 375 training and 125 test images each, at 128 × 128 pixels "
    "(the paper: 750 and 250, at 224); EfficientNet-Lite 0, 1 and 2 in place of ResNet-18, "
    "MobileNetV3-Small and EfficientNet-B0, probes in batches of 200, which makes as many steps as "
    "the paper's 4,096; the last block, last convolution and classifier of Lite0 in place of "
    "ResNet-50's, for 4 (E1) and 2 (E2) epochs of steps in place of 50 and 25, on cached maps and "
    "so without augmentation",
    "paper": "nothing is cut: all 101 classes, torchvision's networks, 50 and 25 epochs",
}
CUTS["mid"] = CUTS["cpu"]
ATTACK = Noise("targeted", 0.25)
RULES = ("random", "el2n", "aum", "rank_variance", "gated")
KEEP = 0.5
E1, E2 = "E1: natural noise", "E2: and targeted 25 %"


def cells(scale: Scale) -> list[Cell]:
    """Every rule in both settings, seed by seed."""
    return [
        Cell("food", setup.source, noise, setup.ensemble, rule, KEEP, setup.target, seed)
        for seed in range(scale.seeds)
        for noise, setup in zip((CLEAN, ATTACK), FOOD[scale.name], strict=True)
        for rule in RULES
    ]


def tables(records: Records) -> Sequence[Table]:
    """Accuracy, and what is suspect or corrupt in the half that is kept."""
    rules = titles_of(RULES)
    rows = list(rules.values())
    return [
        Table(
            "Food-101: test accuracy (%)",
            rows,
            [E1, E2],
            {
                (title, column): records.values("accuracy", rule=rule, noise=noise)
                for rule, title in rules.items()
                for column, noise in ((E1, CLEAN), (E2, ATTACK))
            },
            _printed(0),
        ),
        Table(
            "Food-101: candidate noise (E1) and injected noise (E2) in the half that is kept",
            rows,
            [E1, E2],
            {
                (title, column): records.values(what, rule=rule, noise=noise)
                for rule, title in rules.items()
                for column, noise, what in (
                    (E1, CLEAN, "candidates"),
                    (E2, ATTACK, "contamination"),
                )
            },
            _printed(1),
            best="smallest",
            percent=False,
            digits=3,
        ),
    ]


def _printed(what: int) -> dict[tuple[str, str], Printed]:
    return {
        (title_of(rule), column): values[what]
        for column, setting in ((E1, "E1"), (E2, "E2"))
        for rule, values in PAPER[setting].items()
    }


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Accuracy, and what is suspect, a panel per setting."""
    accuracy, suspect = tables(records)
    return [
        bar_panels(accuracy, "test accuracy, %", folder / "food-accuracy.png"),
        bar_panels(suspect, "share of the half that is kept", folder / "food-noise.png"),
    ]


def claims(records: Records) -> Sequence[Claim]:
    """The paper's reading of table 4."""

    def at(rule: str, noise: Noise, what: str = "accuracy") -> dict[int, float]:
        return records.by_seed(what, rule=rule, noise=noise)

    gated = "gated"
    chance = at("random", CLEAN, "candidates_in_data")
    ours = [
        above(
            f"ours: {title}: {title_of(gated)} above {title_of(rival)}",
            at(gated, noise),
            at(rival, noise),
        )
        for title, noise in (("E1", CLEAN), ("E2", ATTACK))
        for rival in ("rank_variance", "aum")
    ]
    return [
        within(
            "E1: DR-IS within 2 points of Random (the paper: 0.37 above)",
            at("rank_variance", CLEAN),
            at("random", CLEAN),
            0.02,
        ),
        within(
            "E1: DR-IS does not filter, its share of candidate noise within 3 points of the data's",
            at("rank_variance", CLEAN, "candidates"),
            chance,
            0.03,
        ),
        above(
            "E1: AUM filters candidate noise, its share below the data's",
            chance,
            at("aum", CLEAN, "candidates"),
        ),
        above(
            "E1: EL2N gathers candidate noise, its share above the data's",
            at("el2n", CLEAN, "candidates"),
            chance,
        ),
        above(
            "E1: Random above AUM (the paper: by 4.9 points)", at("random", CLEAN), at("aum", CLEAN)
        ),
        above("E1: Random above EL2N", at("random", CLEAN), at("el2n", CLEAN)),
        above("E2: DR-IS above Random", at("rank_variance", ATTACK), at("random", ATTACK)),
        above(
            "E2: DR-IS's half holds less corruption than Random's",
            at("random", ATTACK, "contamination"),
            at("rank_variance", ATTACK, "contamination"),
        ),
        above(
            "E2: EL2N gathers the corruption, its half holds more than Random's",
            at("el2n", ATTACK, "contamination"),
            at("random", ATTACK, "contamination"),
        ),
        above("E2: Random above EL2N", at("random", ATTACK), at("el2n", ATTACK)),
        above("E2: AUM above DR-IS", at("aum", ATTACK), at("rank_variance", ATTACK)),
        *ours,
    ]
