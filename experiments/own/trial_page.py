"""What a trial leaves behind: a table in Markdown, the numbers as JSON, a figure."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.dris_internals import OWN, Writer, count_of
from experiments.own.trial import RULES, Split, Trial, attack_name, steadiest, values, winners
from experiments.records import Records
from experiments.results.figures import CLEAN as BLUE
from experiments.results.figures import CORRUPTED, PALETTE, drawing_folder, save_figure
from experiments.results.statistics import mean_std
from experiments.rules import title_of
from experiments.spec import CLEAN, Noise

NAMES = ("trial.json", "trial.md", "trial.png")


def write_trial(
    records: Records, split: Split, trial: Trial, out: Path, *, writer: Writer = OWN
) -> dict[str, Any]:
    """Write the three files into a folder that is there; returns what the JSON file holds."""
    result = result_of(records, split, trial)
    text = json.dumps(result, indent=1) + "\n"
    with writer.together() as all_three:
        all_three.write(out / NAMES[0], [text.encode()])
        all_three.write(out / NAMES[1], [markdown(records, split, trial).encode()])
        with drawing_folder(out, all_three) as scratch:
            trial_figure(records, trial, scratch / NAMES[2])
    return result


def result_of(records: Records, split: Split, trial: Trial) -> dict[str, Any]:
    """Setting, cells, winners and notes as values that JSON can hold."""
    rule, loss = steadiest(records, trial)
    return {
        "trial": asdict(trial),
        "train": len(split.y),
        "test": len(split.test_y),
        "notes": list(split.notes),
        "winners": [
            {
                "attack": attack_name(w.attack),
                "rule": w.rule,
                "next": w.next,
                "lead": w.lead.difference,
                "p": w.lead.p,
                "decided": w.lead.outcome == "above",
            }
            for w in winners(records, trial)
        ],
        "steadiest": {"rule": rule, "worst_loss": loss},
        "cells": [
            {"attack": attack_name(attack), "rule": row["rule"], "seed": row["seed"]}
            | {name: row["result"][name] for name in ("accuracy", "contamination", "size")}
            for attack in trial.attacks
            for row in records.where(noise=attack)
        ],
    }


def sentences(records: Records, split: Split, trial: Trial) -> list[str]:
    """What the trial says, in words."""
    rule, loss = steadiest(records, trial)
    steady = f"never far behind: {title_of(rule)}, at most {100 * loss:.1f} points below the best"
    return [
        *(str(winner) for winner in winners(records, trial)),
        steady if loss > 0 else f"highest mean in every column: {title_of(rule)}",
        *_short(records, count_of(trial.keep, len(split.y))),
        *split.notes,
    ]


def _short(records: Records, asked: int) -> list[str]:
    """Rules that kept less than half of what was asked, and how often."""
    result = []
    for rule in RULES:
        mine = records.values("size", rule=rule)
        short = sum(size < asked / 2 for size in mine)
        if short:
            none = mine.count(0)
            nothing = f", nothing at all in {none} (then the commonest class is guessed)"
            result.append(
                f"{title_of(rule)} kept less than half of the {asked:,} asked for in {short} of "
                f"{len(mine)} runs{nothing if none else ''}: little passes its gate here"
            )
    return result


def grid(records: Records, trial: Trial) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the table: accuracy ± std, corrupted share beside it, best marked **."""
    best = {w.attack: w.rule for w in winners(records, trial)}
    heads = ["rule"]
    for attack in trial.attacks:
        heads += [f"{attack_name(attack)}: accuracy", *([] if attack == CLEAN else ["corrupt"])]
    rows = []
    for rule in RULES:
        row = [title_of(rule)]
        for attack in trial.attacks:
            reached = _percent(records, attack, rule, "accuracy")
            row.append(f"**{reached}**" if best[attack] == rule else reached)
            if attack != CLEAN:
                row.append(_percent(records, attack, rule, "contamination"))
        rows.append(row)
    return heads, rows


def markdown(records: Records, split: Split, trial: Trial) -> str:
    """The page: what was done, the table, what it says."""
    heads, rows = grid(records, trial)
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
        *(f"- {line}" for line in sentences(records, split, trial)),
        "",
        "![What each rule reached](trial.png)",
    ]
    return "\n".join(lines) + "\n"


def lines_of(records: Records, split: Split, trial: Trial) -> list[str]:
    """The table and its sentences for a terminal; an asterisk marks the best of a column."""
    heads, rows = grid(records, trial)
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
        *sentences(records, split, trial),
    ]


def trial_figure(records: Records, trial: Trial, path: Path) -> Path:
    """Accuracy of every rule under every attack, a dot per seed, and what got through."""
    from matplotlib.figure import Figure

    attacks = trial.attacks
    figure = Figure(figsize=(3.6 * len(attacks), 3.6), layout="constrained", dpi=120)
    panels = figure.subplots(1, len(attacks), sharey=True, squeeze=False)[0]
    names = list(RULES)[::-1]
    lowest = min(row["result"]["accuracy"] for row in records.rows)
    left = max(0.0, 100 * lowest - 15)
    for axes, attack in zip(panels, attacks, strict=True):
        for row, rule in enumerate(names):
            reached = [100 * v for v in values(records, attack, rule, "accuracy")]
            mean = mean_std(reached)[0]
            colour = PALETTE[2] if rule == "gated" else BLUE
            axes.barh(row, mean - left, left=left, color=colour, alpha=0.5)
            axes.plot(reached, [row] * len(reached), "k.", markersize=4)
            if attack != CLEAN:
                dirt = values(records, attack, rule, "contamination")
                axes.annotate(
                    f"{100 * mean_std(dirt)[0]:.0f} %" if dirt else "–",
                    (1.04, row),
                    xycoords=("axes fraction", "data"),
                    va="center",
                    color=CORRUPTED,
                    annotation_clip=False,
                )
        if attack != CLEAN:
            axes.annotate(
                "corrupt",
                (1.02, 1.02),
                xycoords="axes fraction",
                color=CORRUPTED,
                annotation_clip=False,
            )
        axes.set_yticks(range(len(names)), [title_of(rule) for rule in names])
        axes.set(xlim=(left, 100), xlabel="test accuracy, %", title=attack_name(attack))
    return save_figure(figure, path)


def _percent(records: Records, attack: Noise, rule: str, what: str) -> str:
    result = values(records, attack, rule, what)
    mean, spread = mean_std(result) if result else (0.0, 0.0)
    return f"{100 * mean:.1f} ± {100 * spread:.1f}" if result else "–"
