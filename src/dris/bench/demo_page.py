"""What `dris demo` shows: a progress bar, one table, a verdict in words, a figure."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from dris.bench import demo
from dris.bench.results.figures import rank_variance_figure
from dris.bench.results.paper_values import CIFAR10_TARGETED_25
from dris.bench.results.statistics import mean_std
from dris.core.checks import count_of
from dris.core.dynamics.arrayfile import made_folder
from dris.core.scores.formulas import rank_variance
from dris.learn.run.bars import bar


def show(setting: demo.Setting, *, out: Path, workers: int | None = None) -> demo.Judgement:
    """Run the demo and show it; the folder gets demo.json and rank-variance.png."""
    made_folder(out)
    with bar("attack, proxies, targets") as progress:
        runs, proxied = demo.run(setting, workers=workers, progress=progress)
    judgement = demo.judge(runs, setting)
    page = Console()
    page.print(table_of(runs, setting))
    page.print(judgement.text, soft_wrap=not page.is_terminal)
    for path in (_draw(runs, proxied[0], setting, out), _keep(runs, setting, judgement, out)):
        page.print(f"wrote {path}", soft_wrap=True, highlight=False)
    return judgement


def table_of(runs: Sequence[demo.Run], setting: demo.Setting) -> Table:
    """One row per rule: ours as mean ± std (n), the paper's CIFAR-10 row beside it."""
    n = len(setting.seeds)
    table = Table(
        title=f"digits, targeted {setting.rate:.0%} label noise, K = {setting.proxies} proxies, "
        f"keep {setting.keep:.0%}; mean ± std ({n} seeds)",
        caption="paper: CIFAR-10 / VGG-19 at the same noise and keep fraction",
    )
    table.add_column("rule")
    for name in ("corrupt in subset", "paper", "test accuracy, %", "paper"):
        table.add_column(name, justify="right", style="dim" if name == "paper" else None)
    for rule, name in demo.RULES.items():
        dirt, accuracy = (
            mean_std(demo.values(runs, rule, what)) for what in ("contamination", "accuracy")
        )
        paper_dirt, paper_accuracy = CIFAR10_TARGETED_25[rule]
        table.add_row(
            name,
            f"{dirt[0]:.3f} ± {dirt[1]:.3f}",
            "" if paper_dirt is None else f"{paper_dirt:.3f}",
            f"{100 * accuracy[0]:.1f} ± {100 * accuracy[1]:.1f}",
            f"{paper_accuracy:.1f}",
            style="bold" if rule == "rank_variance" else None,
        )
    return table


def _draw(runs: Sequence[demo.Run], shown: demo.Proxied, setting: demo.Setting, out: Path) -> Path:
    variance = rank_variance(shown.dynamics)
    kept = count_of(setting.keep, len(variance))
    accuracy = {name: demo.values(runs, rule, "accuracy") for rule, name in demo.RULES.items()}
    cut = float(np.sort(variance)[-kept])
    return rank_variance_figure(variance, shown.flipped, cut, accuracy, out / "rank-variance.png")


def _keep(
    runs: Sequence[demo.Run], setting: demo.Setting, judgement: demo.Judgement, out: Path
) -> Path:
    path = out / "demo.json"
    found = {
        "setting": asdict(setting),
        "outcome": judgement.outcome,
        "verdict": judgement.text,
        "runs": [asdict(r) for r in runs],
    }
    path.write_text(json.dumps(found, indent=1) + "\n")
    return path
