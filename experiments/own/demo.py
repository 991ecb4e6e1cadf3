"""The main job in under a minute, on real digits: attack, score, select, train, judge.

    dris demo            (or: make demo)

A quarter of the labels of scikit-learn's digits is flipped where it hurts most, by an attacker
model. Three small networks train on what is left, six rules each keep a quarter of the data by
what those networks say, and the same target is trained on each subset for the same number of
steps. Claims tested: magnitude scores (EL2N, consensus) collapse below Random; DR-IS keeps
little corruption and ends above Random.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dris.core.checks.diagnostics import Outcome
from dris.core.files import make_folder
from dris.core.sanitize import printable, under
from dris.core.scores.formulas import rank_variance
from dris.core.temporaries import temporary_folder
from dris.core.validate import count_of
from dris.data.labelled import LabelledData
from dris.data.writer import OWN
from dris.learn.engines.bars import bar
from dris.learn.engines.processes import Progress
from dris.learn.recipe import Recipe
from dris.learn.trainers.job import Data
from dris.learn.trainers.stacked.feature_table import as_features
from dris.learn.trainers.stacked.row_models import predict_after
from dris.pipeline.harm import HEADS
from dris.pipeline.route import decide
from experiments.kinds.shared import prepared
from experiments.records import Records, gather
from experiments.results.figures import drawn_into, rank_variance_figure
from experiments.results.paper_values import CIFAR10_TARGETED_25
from experiments.results.reading import shown
from experiments.results.statistics import Compared, compare, mean_std
from experiments.rule_names import title_of
from experiments.runner import run
from experiments.spec import Cell, Ensemble, Noise, Source, Target
from experiments.workspace import Loaded, Workspace

if TYPE_CHECKING:
    from rich.table import Table

RULES = ("random", "el2n", "consensus", "forgetting", "aum", "rank_variance")
ATTACK, KEEP, PROXIES = Noise("targeted", 0.25), 0.25, 3
_HOW = Recipe(20, 64, 0.02, augment=False)
_ATTACKER = Recipe(20, 64, 0.02, scored_epoch=20, augment=False)
_ENSEMBLE = Ensemble(("small_mlp",), PROXIES, _HOW, "small_mlp", _ATTACKER)
_TARGET = Target("small_mlp_128", Recipe(30, 64, 0.05, augment=False))

_FIGURE, _NUMBERS = "rank-variance.png", "demo.json"


def cells(seeds: int) -> list[Cell]:
    """Every rule under every seed.

    >>> len(cells(5))
    30
    """
    return [
        Cell("static", Source("digits"), ATTACK, _ENSEMBLE, rule, KEEP, _TARGET, seed)
        for seed in range(seeds)
        for rule in RULES
    ]


def show(seeds: int, *, out: Path, workers: int | None = None) -> tuple[Outcome, str]:
    """Run the demo and show it; the folder gets demo.json and rank-variance.png."""
    from rich.console import Console

    OWN.refuse(out / _FIGURE, out / _NUMBERS)
    make_folder(out)
    with temporary_folder() as folder:
        place = Workspace(folder)
        with bar("attack, proxies, targets") as progress:
            records = ran(seeds, place, workers=workers, progress=progress)
        with drawn_into(out, OWN) as scratch:
            _draw(records, place, scratch / _FIGURE)
        advice = decided(place)
    outcome, text = judged(records)
    page = Console(file=under(sys.stdout), markup=False, emoji=False)
    page.print(table_of(records))
    page.print(text, soft_wrap=not page.is_terminal)
    page.print(advice, soft_wrap=not page.is_terminal)
    OWN.write(out / _NUMBERS, [_numbers(records, outcome, text)])
    for name in (_FIGURE, _NUMBERS):
        page.print(f"wrote {printable(out / name)}", soft_wrap=True, highlight=False)
    return outcome, text


def ran(
    seeds: int, place: Workspace, *, workers: int | None = None, progress: Progress | None = None
) -> Records:
    """The records of all cells, by the runner of every experiment."""
    wanted = cells(seeds)
    found = run(wanted, out=place.store, workspace=place, workers=workers, progress=progress)
    return gather("demo", "demo", found)


def judged(records: Records) -> tuple[Outcome, str]:
    """Compare each rule with Random over seeds (paired, one-sided t, p < 0.05) and say it.

    Holds: DR-IS keeps less corruption and its target is better. Fails: its target is worse, or it
    keeps more than half of Random's corruption. Otherwise the seeds cannot tell.
    """

    def values(rule: str, what: str) -> list[float]:
        return records.values(what, rule=rule)

    versus = {
        rule: {
            what: compare(values(rule, what), values("random", what))
            for what in ("contamination", "accuracy")
        }
        for rule in RULES
        if rule != "random"
    }
    ours = versus["rank_variance"]
    kept, chance = (values(rule, "contamination") for rule in ("rank_variance", "random"))
    outcome: Outcome = "cannot tell"
    if ours["contamination"].outcome == "below" and ours["accuracy"].outcome == "above":
        outcome = "holds"
    elif (
        ours["accuracy"].outcome == "below"
        or compare(kept, [c / 2 for c in chance]).outcome == "above"
    ):
        outcome = "fails"
    lead = (
        f"{_LEADS[outcome]}: of what DR-IS keeps, {100 * mean_std(kept)[0]:.1f} % is corrupt "
        f"against {100 * mean_std(chance)[0]:.1f} % for Random, and its target ends "
        f"{_points(ours['accuracy'])} Random."
    )
    collapsed = [_short(r) for r, v in versus.items() if v["accuracy"].outcome == "below"]
    ahead = [_short(r) for r, v in versus.items() if v["accuracy"].outcome == "above"]
    fell = (
        f"{_listed(collapsed)} fall{'s' * (len(collapsed) == 1)} below Random, by "
        f"{max(-versus[r]['accuracy'].difference for r in versus) * 100:.1f} points at worst."
        if collapsed
        else "No rule falls below Random."
    )
    best = max(RULES, key=lambda rule: mean_std(values(rule, "accuracy"))[0])
    cleanest = min(RULES, key=lambda rule: mean_std(values(rule, "contamination"))[0])
    rest = (
        f"{_listed(ahead) if ahead else 'No rule'} end{'s' * (len(ahead) < 2)} above Random; the "
        f"best target is {_short(best)}'s, the cleanest subset {_short(cleanest)}'s."
    )
    how = f"(Paired over {len(chance)} seeds, one-sided t, p < 0.05.)"
    return outcome, " ".join((lead, fell, rest, how))


_LEADS: dict[Outcome, str] = {
    "holds": "The method works here",
    "fails": "The method does not work here",
    "cannot tell": "These seeds cannot tell whether the method works here",
}


def _short(rule: str) -> str:
    """A rule in a sentence: its title up to the comma."""
    return title_of(rule).partition(",")[0]


def _points(compared: Compared) -> str:
    if compared.outcome == "undecided":
        return "indistinguishable from"
    return f"{abs(compared.difference) * 100:.1f} points {compared.outcome}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def table_of(records: Records) -> "Table":
    """One row per rule: ours as mean ± std (n), the paper's CIFAR-10 row beside it."""
    from rich.table import Table

    n = len(records.where(rule="random"))
    table = Table(
        title=f"digits, targeted {ATTACK.rate:.0%} label noise, K = {PROXIES} proxies, "
        f"keep {KEEP:.0%}; mean ± std ({n} seeds)",
        caption="paper: CIFAR-10 / VGG-19 at the same noise and keep fraction",
    )
    table.add_column("rule")
    for name in ("corrupt in subset", "paper", "test accuracy, %", "paper"):
        table.add_column(name, justify="right", style="dim" if name == "paper" else None)
    for rule, title in shown(records, RULES).items():
        dirt, accuracy = (
            mean_std(records.values(what, rule=rule)) for what in ("contamination", "accuracy")
        )
        paper_dirt, paper_accuracy = CIFAR10_TARGETED_25[rule]
        table.add_row(
            title,
            f"{dirt[0]:.3f} ± {dirt[1]:.3f}",
            "" if paper_dirt is None else f"{paper_dirt:.3f}",
            f"{100 * accuracy[0]:.1f} ± {100 * accuracy[1]:.1f}",
            f"{paper_accuracy:.1f}",
            style="bold" if rule == "rank_variance" else None,
        )
    return table


def decided(place: Workspace) -> str:
    """What `dris clean` makes of the first seed's labels, what its check says, what came true."""
    data, noisy, _ = prepared(cells(1), place, {})
    rows = LabelledData.of(
        np.asarray(data.x).reshape(len(noisy.given), -1),
        noisy.given,
        classes=tuple(range(data.classes)),
    )
    decision = decide(rows, workers=1)
    harm = decision.harm
    says = "says nothing" if harm is None else f"says: {harm.says} ({harm.agreement} points)"
    whole, kept = _reached(rows, decision.kept, data)
    return (
        f"dris clean would drop {len(rows) - decision.kept.size:,} of the same "
        f"{len(rows):,} labels (seed 0), and its harm check {says}. In truth "
        f"{100 * noisy.flipped.mean():.1f} % of all are wrong and "
        f"{100 * noisy.flipped[decision.kept].mean():.1f} % of what it keeps, which takes the "
        f"check's models to {100 * kept:.1f} % on test labels, everything to {100 * whole:.1f} %."
    )


def _reached(rows: LabelledData, kept: NDArray[np.int64], data: Loaded) -> tuple[float, float]:
    """Test accuracy of the harm check's models trained on everything and on what is kept."""
    test = np.asarray(data.test_x, dtype=np.float32).reshape(len(data.test_y), -1)
    x, n = np.concatenate((rows.x, test)), len(rows)
    y = np.concatenate((rows.labels, data.test_y))
    table = as_features(Data(x, y), True).x
    arms = [np.arange(n), kept]
    guesses = [predict_after(table, y, data.classes, arms, head=head) for head in HEADS.values()]
    right = np.mean([guess[:, n:] == data.test_y for guess in guesses], axis=(0, 2))
    return float(right[0]), float(right[1])


def _draw(records: Records, place: Workspace, path: Path) -> None:
    """The first seed's rank variance, whose proxies come back from the store."""
    _, noisy, ensembles = prepared(cells(1), place, {})
    variance = rank_variance(ensembles.plain())
    cut = float(np.sort(variance)[-count_of(KEEP, len(variance))])
    accuracy = {
        title: records.values("accuracy", rule=rule)
        for rule, title in shown(records, RULES).items()
    }
    rank_variance_figure(variance, noisy.flipped, cut, accuracy, path)


def _numbers(records: Records, outcome: Outcome, text: str) -> bytes:
    runs = [
        {"rule": row["rule"], "seed": row["seed"]}
        | {name: row["found"][name] for name in ("contamination", "accuracy")}
        for row in records.rows
    ]
    seeds = sorted({row["seed"] for row in records.rows})
    setting = {
        "rate": ATTACK.rate,
        "keep": KEEP,
        "proxies": PROXIES,
        "proxy_epochs": _HOW.epochs,
        "target_epochs": _TARGET.recipe.epochs,
        "batch_size": _HOW.batch_size,
        "seeds": seeds,
    }
    found = {"setting": setting, "outcome": outcome, "verdict": text, "runs": runs}
    return (json.dumps(found, indent=1) + "\n").encode()
