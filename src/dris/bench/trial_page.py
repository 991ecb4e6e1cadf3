"""What `dris trial` leaves behind: a table in Markdown, the numbers as JSON, a figure."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dris.bench.results.figures import CLEAN, CORRUPTED, PALETTE, saved
from dris.bench.results.statistics import mean_std
from dris.bench.trial import RULES, Attack, Cell, Split, Trial, steadiest, values, winners
from dris.core.checks import count_of
from dris.core.dynamics.arrayfile import write_atomically

NAMES = ("trial.json", "trial.md", "trial.png")


def write_trial(cells: Sequence[Cell], split: Split, trial: Trial, out: Path) -> dict[str, Any]:
    """Write the three files into a folder that is there; returns what the JSON file holds."""
    found = result_of(cells, split, trial)
    text = json.dumps(found, indent=1) + "\n"
    write_atomically(out / NAMES[0], [text.encode()])
    write_atomically(out / NAMES[1], [markdown(cells, split, trial).encode()])
    trial_figure(cells, out / NAMES[2])
    return found


def result_of(cells: Sequence[Cell], split: Split, trial: Trial) -> dict[str, Any]:
    """Setting, cells, winners and notes as values that JSON can hold."""
    rule, loss = steadiest(cells)
    return {
        "trial": asdict(trial),
        "train": len(split.y),
        "test": len(split.test_y),
        "notes": list(split.notes),
        "winners": [
            {
                "attack": str(w.attack),
                "rule": w.rule,
                "next": w.next,
                "lead": w.lead.difference,
                "p": w.lead.p,
                "decided": w.lead.outcome == "above",
            }
            for w in winners(cells)
        ],
        "steadiest": {"rule": rule, "worst_loss": loss},
        "cells": [{**asdict(cell), "attack": str(cell.attack)} for cell in cells],
    }


def sentences(cells: Sequence[Cell], split: Split, trial: Trial) -> list[str]:
    """What the trial says, in words."""
    rule, loss = steadiest(cells)
    steady = f"never far behind: {RULES[rule]}, at most {100 * loss:.1f} points below the best"
    return [
        *(str(winner) for winner in winners(cells)),
        steady if loss > 0 else f"highest mean in every column: {RULES[rule]}",
        *_short(cells, count_of(trial.keep, len(split.y))),
        *split.notes,
    ]


def _short(cells: Sequence[Cell], asked: int) -> list[str]:
    """Rules that kept less than half of what was asked, and how often."""
    told = []
    for rule, name in RULES.items():
        mine = [cell.size for cell in cells if cell.rule == rule]
        short = sum(size < asked / 2 for size in mine)
        if short:
            none = mine.count(0)
            nothing = f", nothing at all in {none} (then the commonest class is guessed)"
            told.append(
                f"{name} kept less than half of the {asked:,} asked for in {short} of "
                f"{len(mine)} runs{nothing if none else ''}: little passes its gate here"
            )
    return told


def grid(cells: Sequence[Cell]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table: accuracy ± std, corrupted share beside it, best marked **."""
    attacks = list(dict.fromkeys(cell.attack for cell in cells))
    best = {w.attack: w.rule for w in winners(cells)}
    heads = ["rule"]
    for attack in attacks:
        heads += [f"{attack}: accuracy", *([] if attack.kind == "none" else ["corrupt"])]
    rows = []
    for rule, name in RULES.items():
        row = [name]
        for attack in attacks:
            reached = _percent(cells, attack, rule, "accuracy")
            row.append(f"**{reached}**" if best[attack] == rule else reached)
            if attack.kind != "none":
                row.append(_percent(cells, attack, rule, "contamination"))
        rows.append(row)
    return heads, rows


def markdown(cells: Sequence[Cell], split: Split, trial: Trial) -> str:
    """The page: what was done, the table, what it says."""
    heads, rows = grid(cells)
    lines = [
        "# Which rule wins on this data",
        "",
        f"{len(split.y):,} examples to train on, {len(split.test_y):,} to test, {split.classes} "
        f"classes; {trial.proxies} proxies, {trial.epochs} epochs, keep fraction {trial.keep:g}. "
        "Test accuracy and simulated flips left in the subset, per cent, mean ± sample standard "
        f"deviation over {trial.seeds} seeds; every target takes as many steps as on all the data.",
        "",
        f"| {' | '.join(heads)} |",
        "|---" + "|---:" * (len(heads) - 1) + "|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        *(f"- {line}" for line in sentences(cells, split, trial)),
        "",
        "![What each rule reached](trial.png)",
    ]
    return "\n".join(lines) + "\n"


def lines_of(cells: Sequence[Cell], split: Split, trial: Trial) -> list[str]:
    """The table and its sentences for a terminal; an asterisk marks the best of a column."""
    heads, rows = grid(cells)
    plain = [[c.replace("**", "*", 1).replace("**", "") for c in row] for row in (heads, *rows)]
    widths = [max(len(row[i]) for row in plain) for i in range(len(heads))]
    return [
        f"keep {trial.keep:g}; test accuracy and simulated flips kept, %, mean ± std "
        f"({trial.seeds} seeds); * is best",
        *(
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in plain
        ),
        *sentences(cells, split, trial),
    ]


def trial_figure(cells: Sequence[Cell], path: Path) -> Path:
    """Accuracy of every rule under every attack, a dot per seed, and what got through."""
    from matplotlib.figure import Figure

    attacks = list(dict.fromkeys(cell.attack for cell in cells))
    figure = Figure(figsize=(3.6 * len(attacks), 3.6), layout="constrained", dpi=120)
    panels = figure.subplots(1, len(attacks), sharey=True, squeeze=False)[0]
    names = list(RULES)[::-1]
    lowest = min(cell.accuracy for cell in cells)
    left = max(0.0, 100 * lowest - 15)
    for axes, attack in zip(panels, attacks, strict=True):
        for row, rule in enumerate(names):
            reached = [100 * v for v in values(cells, attack, rule, "accuracy")]
            mean = mean_std(reached)[0]
            colour = PALETTE[2] if rule == "gated" else CLEAN
            axes.barh(row, mean - left, left=left, color=colour, alpha=0.5)
            axes.plot(reached, [row] * len(reached), "k.", markersize=4)
            if attack.kind != "none":
                dirt = 100 * mean_std(values(cells, attack, rule, "contamination"))[0]
                axes.annotate(
                    f"{dirt:.0f} %",
                    (1.04, row),
                    xycoords=("axes fraction", "data"),
                    va="center",
                    color=CORRUPTED,
                    annotation_clip=False,
                )
        if attack.kind != "none":
            axes.annotate(
                "corrupt",
                (1.02, 1.02),
                xycoords="axes fraction",
                color=CORRUPTED,
                annotation_clip=False,
            )
        axes.set_yticks(range(len(names)), [RULES[rule] for rule in names])
        axes.set(xlim=(left, 100), xlabel="test accuracy, %", title=str(attack))
    return saved(figure, path)


def _percent(cells: Sequence[Cell], attack: Attack, rule: str, what: str) -> str:
    mean, spread = mean_std(values(cells, attack, rule, what))
    return f"{100 * mean:.1f} ± {100 * spread:.1f}"
