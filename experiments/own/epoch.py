"""When the proxies are looked at: the scoring epoch s, which the paper leaves open (item 16).

    python -m experiments epoch --scale cpu

The paper scores at epoch 20 of 40 and does not vary it. Recorded dynamics give every rule's
contamination at every s for nothing (AUM and Forgetting then run over the first s epochs); targets
are trained for DR-IS at a few of them. First data set, targeted 25 %, keep fraction 0.25.
Cost: seconds at smoke; at cpu 4 more targets per seed, about 2 minutes of one core; at paper as
many targets of 25 GPU-minutes.
Claims tested: none of the paper's; ours are that half of the epochs is no worse a place to look
than the others.
"""

from collections.abc import Sequence
from pathlib import Path

from experiments.paper.breakdown import ensemble_cell_of
from experiments.paper.pruning import ATTACK, static
from experiments.records import Records
from experiments.results.claims import Claim, above
from experiments.results.curves import Panel, curve_panels
from experiments.results.reading import ensemble_values
from experiments.results.table import Table
from experiments.rules import scored_at, title_of, titles_of
from experiments.scales import SCALES, Scale
from experiments.spec import Cell

RULES = ("random", "el2n", "forgetting", "consensus", "aum", "rank_variance", "gated")


def looks(scale: Scale) -> dict[int, str]:
    """The epochs at which DR-IS is tried with a target, each with its rule.

    >>> list(looks(SCALES["cpu"])), list(looks(SCALES["mid"]))
    ([2, 4, 6, 8, 12], [3, 7, 10, 13, 20])
    """
    recipe = scale.setups[0].ensemble.recipe
    tried = {max(1, round(recipe.epochs * part / 6)) for part in (1, 2, 4, 6)}
    return {
        epoch: "rank_variance" if epoch == recipe.scored else scored_at(epoch).name
        for epoch in sorted({*tried, recipe.scored})
    }


def cells(scale: Scale) -> list[Cell]:
    """The measured ensemble, and DR-IS's targets."""
    setup = scale.setups[0]
    return [
        cell
        for seed in range(scale.seeds)
        for cell in [
            ensemble_cell_of(setup, ATTACK, seed),
            *(static(setup, ATTACK, rule, seed) for rule in looks(scale).values()),
        ]
    ]


def dirt(records: Records, rule: str, epoch: int) -> dict[int, float]:
    """What is corrupt in a rule's subset when the proxies are looked at after an epoch."""
    return ensemble_values(
        records, lambda result: result["by_epoch"][rule][result["epochs"].index(epoch)]
    )


def tables(records: Records) -> Sequence[Table]:
    """DR-IS's accuracy, then every rule's contamination, by s."""
    tried, rules = looks(SCALES[records.scale]), titles_of(RULES)
    columns = {epoch: f"s = {epoch}" for epoch in tried}
    return [
        Table(
            f"{ATTACK}: test accuracy of DR-IS's target (%)",
            ["DR-IS"],
            list(columns.values()),
            {
                ("DR-IS", columns[epoch]): records.values("accuracy", rule=rule)
                for epoch, rule in tried.items()
            },
            best=None,
        ),
        Table(
            f"{ATTACK}: fraction corrupt in the subset",
            list(rules.values()),
            list(columns.values()),
            {
                (title, columns[epoch]): list(dirt(records, rule, epoch).values())
                for rule, title in rules.items()
                for epoch in tried
            },
            best="smallest",
            percent=False,
            digits=3,
        ),
    ]


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """Contamination at every epoch, and accuracy where targets were trained."""
    watched_rows = records.where(kind="ensemble")
    epochs = watched_rows[0]["result"]["epochs"] if watched_rows else []
    panels = [
        Panel(
            "contamination",
            "scoring epoch s",
            "corrupt in the subset, %",
            {
                title: {
                    epoch: [100 * value for value in dirt(records, rule, epoch).values()]
                    for epoch in epochs
                }
                for rule, title in titles_of(RULES).items()
            },
        ),
        Panel(
            "accuracy",
            "scoring epoch s",
            "test accuracy, %",
            {
                title_of("rank_variance"): {
                    epoch: [100 * value for value in records.values("accuracy", rule=rule)]
                    for epoch, rule in looks(SCALES[records.scale]).items()
                }
            },
        ),
    ]
    return [curve_panels(panels, folder / "epoch.png")]


def claims(records: Records) -> Sequence[Claim]:
    """Half of the epochs against the others."""
    scale = SCALES[records.scale]
    half = scale.setups[0].ensemble.recipe.scored
    tried = looks(scale)
    result = []
    for epoch, rule in tried.items():
        if epoch != half:
            text = f"ours: s = {half} keeps less corruption than s = {epoch}"
            here, there = (dirt(records, "rank_variance", e) for e in (half, epoch))
            result.append(above(text, there, here))
            text = f"ours: DR-IS reaches more at s = {half} than at s = {epoch}"
            pair = [records.by_seed("accuracy", rule=r) for r in (tried[half], rule)]
            result.append(above(text, *pair))
    return result
