"""What is corrupt in each rule's quarter under the targeted attack (paper, table 2; item 2).

    python -m experiments contamination --scale cpu

The targets of static pruning, read for their subsets, and the measured ensembles they come from.
Anchors stand beside them, on 20,000 images of CIFAR-10 at 32 pixels: the paper's ResNet-20,
MobileNetV2 ×0.5 and ShuffleNetV2 ×0.5, at mid under every seed, at cpu under one, with the paper's
attacker and its 40-epoch recipe stopped at epoch 20, where it is scored. They train in float32:
ShuffleNetV2 takes half as long again in bfloat16. Alone:

    python -m experiments contamination --scale mid --rule plain

At cpu the ensemble is measured under the other reading of the attack too, by the gradient norm of
all weights. Cost: nothing beyond pruning but the anchors, two hours of one core a seed, and four
minutes a seed for the other attack.
Claims tested: every ordering of two rules that table 2 prints; EL2N and consensus keep mostly
corrupted examples, AUM next to none, DR-IS few.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from experiments.paper import pruning
from experiments.paper.breakdown import ensemble_cell_of
from experiments.paper.pruning import ATTACK, KEEP, RULES, data_of, orderings, ours
from experiments.recipes import CIFAR_ATTACKER, CIFAR_PROXY
from experiments.records import Records
from experiments.results.claims import Claim, above, together
from experiments.results.figures import grouped_bars
from experiments.results.paper_values import CONTAMINATION, PRUNING
from experiments.results.reading import (
    Like,
    constant,
    cross_table,
    ensemble_values,
    pick_at,
)
from experiments.results.table import Printed, Table
from experiments.rules import title_of, titles_of
from experiments.scales import Scale
from experiments.spec import ALL_WEIGHTS, Cell, Ensemble, Noise, Source

_STOPPED = replace(CIFAR_PROXY, stop_epoch=20)


def cells(scale: Scale) -> list[Cell]:
    """Static pruning's targets under the attack, its ensembles, and the anchors.

    At mid only the anchors are measured: what targets were given says the rest.
    """
    targets = [cell for cell in pruning.cells(scale) if cell.noise == ATTACK]
    setups = () if scale.name == "mid" else scale.setups
    ensembled = [
        ensemble_cell_of(setup, ATTACK, seed) for seed in range(scale.seeds) for setup in setups
    ]
    return [*targets, *ensembled, *anchors(scale), *other_attack(scale)]


def other_attack(scale: Scale) -> list[Cell]:
    """The first setup's ensemble where the attacker's norms are those of all weights."""
    if scale.name in ("mid", "paper"):
        return []
    noise = Noise(ALL_WEIGHTS, ATTACK.rate)
    return [ensemble_cell_of(scale.setups[0], noise, seed, "plain") for seed in range(scale.seeds)]


def anchors(scale: Scale) -> list[Cell]:
    """The paper's networks on 20,000 whole images, at smoke tiny ones.

    At paper the ensembles themselves are these networks.
    """
    setup, whole = scale.setups[0], Source("cifar10", 20_000)
    three = Ensemble(scale.heterogeneous, 3, _STOPPED, "resnet20", CIFAR_ATTACKER)
    source, ensemble, seeds = {
        "smoke": (setup.source, replace(setup.ensemble, models=scale.heterogeneous), scale.seeds),
        "cpu": (whole, three, 1),
        "mid": (whole, three, scale.seeds),
        "paper": (whole, three, 0),
    }[scale.name]
    return [
        Cell("ensemble", source, ATTACK, ensemble, "plain", KEEP, None, seed)
        for seed in range(seeds)
    ]


def ensembles(records: Records) -> dict[str, Like]:
    """The ensembles that were measured, as rows are found by."""
    result: dict[str, Like] = {}
    for row in records.where(kind="ensemble"):
        many = f", {row['examples']:,} examples" if row["examples"] else ""
        like = {name: row[name] for name in ("data", "examples", "proxies", "noise")}
        how = "" if row["noise"] == str(ATTACK) else f", {row['noise']}"
        result[f"{row['data']}{many}, {row['proxies']}{how}"] = like
    return result


def tables(records: Records) -> Sequence[Table]:
    """Contamination and accuracy of the targets' subsets; then the ensembles, proxy by proxy."""
    rows = {title: {"rule": rule} for rule, title in titles_of(RULES).items()}
    columns = {data: {"data": data} for data in data_of(records)}

    def dirt(row: Like, column: Like) -> Printed | None:
        known = CONTAMINATION.get(column["data"], {}).get(row["rule"])
        return None if known is None else (known, None)

    def reached(row: Like, column: Like) -> Printed | None:
        known = PRUNING.get(column["data"], {}).get(row["rule"])
        return None if known is None else known[-1]

    return [
        cross_table(
            records,
            f"{ATTACK}: fraction corrupt in the quarter that is kept",
            rows,
            columns,
            what="contamination",
            paper=dirt,
            best="smallest",
            percent=False,
            digits=3,
        ),
        cross_table(records, f"{ATTACK}: test accuracy (%)", rows, columns, paper=reached),
        *(
            table
            for title, like in ensembles(records).items()
            for table in _measured(records, title, like)
        ),
    ]


def _measured(records: Records, title: str, like: Like) -> list[Table]:
    """One ensemble: what its rules keep, and what its proxies learned."""
    found = [row["result"] for row in records.where(kind="ensemble", **like)]
    first = max(found, key=lambda result: len(result["contamination"]))
    rules = list(first["contamination"])
    known = CONTAMINATION.get(like["data"], {})

    def values(*path: str) -> list[float]:
        return list(ensemble_values(records, pick_at(*path), **like).values())

    row, (dirty, result) = "mean of the proxies", ("corrupt in the quarter", "AUROC of clean")
    learned = {
        "test, after the last epoch": "test_accuracy",
        "clean labels, when scored": "fits_clean",
        "corrupted labels, when scored": "fits_corrupted",
    }
    return [
        Table(
            title,
            [title_of(rule) for rule in rules],
            [dirty, result],
            {
                **{(title_of(rule), dirty): values("contamination", rule) for rule in rules},
                **{(title_of(rule), result): values("auroc", rule) for rule in first["auroc"]},
            },
            {(title_of(rule), dirty): (value, None) for rule, value in known.items()},
            best=None,
            percent=False,
            digits=3,
        ),
        Table(
            f"{title}: accuracy of the proxies (%)",
            [row],
            list(learned),
            {(row, name): values(what) for name, what in learned.items()},
            best=None,
        ),
    ]


def figures(records: Records, folder: Path) -> Sequence[Path]:
    """What is corrupt in each subset, ours and the paper's."""
    table = replace(tables(records)[0], percent=True)
    shares = {pair: (100 * mean, None) for pair, (mean, _) in table.paper.items()}
    panels = [("fraction corrupt in the quarter that is kept", replace(table, paper=shares))]
    return [grouped_bars(panels, "corrupt, %", folder / "contamination.png")]


def claims(records: Records) -> Sequence[Claim]:
    """Every ordering of table 2, and how the paper reads it, per data set; then of the anchors."""
    result = []
    for data in data_of(records):

        def dirt(rule: str, data: str = data) -> dict[int, float]:
            return records.by_seed("contamination", kind="static", data=data, rule=rule)

        result += [
            *_as_printed(data, data, dirt),
            *(
                above(
                    f"ours: {data}: {title_of(mine)} keeps less corruption than DR-IS",
                    dirt("rank_variance"),
                    dirt(mine),
                )
                for mine in ours(records, data)
            ),
        ]
    for like in ensembles(records).values():
        anchored = {"rule": "plain", **like}

        def kept(rule: str, like: Like = anchored) -> dict[int, float]:
            return ensemble_values(records, pick_at("contamination", rule), **like)

        if len(kept("random")) > 1:  # of one seed nothing is claimed
            data = like["data"]
            who = f"{data}, {like['proxies']}"
            if like["noise"] != str(ATTACK):
                who = f"another reading, {like['noise']}: {data}"
            result += _as_printed(who, data, kept)
    return result


def _as_printed(who: str, data: str, dirt: Callable[[str], dict[int, float]]) -> list[Claim]:
    """What table 2 says of a data set, held to shares by rule and seed."""
    clean = dirt("aum")
    return [
        together(
            f"{who}: EL2N and consensus keep more corrupted than clean examples",
            [above(title_of(r), dirt(r), constant(0.5, dirt(r))) for r in ("el2n", "consensus")],
        ),
        *(
            above(f"{who}: {text}", dirt(larger), dirt(smaller))
            for text, larger, smaller in orderings(
                CONTAMINATION.get(data, CONTAMINATION["cifar10"]), "keeps more corruption than"
            )
        ),
        above(f"{who}: AUM keeps less than 1 % corruption", constant(0.01, clean), clean),
        above(
            f"{who}: DR-IS keeps less than half of chance, 12.5 %",
            constant(0.125, clean),
            dirt("rank_variance"),
        ),
    ]
