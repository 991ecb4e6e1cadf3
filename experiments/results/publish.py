"""All that is published from records, written again: pages, the index, sentences in documents.

    python -m experiments pages

A document holds a block between `<!-- from records: NAME -->` and `<!-- end -->`; what stands there
is written from records alone, and a test holds that it is what the records say.
"""

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from textwrap import indent

from experiments.dris_internals import MANIFEST, temporary_folder
from experiments.own import augmentation
from experiments.questions import questions
from experiments.records import Records, read_records
from experiments.registry import EXPERIMENTS
from experiments.reproduction import Selection, reproduce
from experiments.results.leads import lead_row, lead_table, leader_of
from experiments.results.pages import lead_rows
from experiments.results.paper_values import CONTAMINATION, PRUNING
from experiments.results.statistics import mean_std
from experiments.results.tally import INDEX, count_outcomes, outcome_words, write_index
from experiments.rules import title_of
from experiments.scales import SCALES
from experiments.studies.clean import read_cells
from experiments.studies.clean_runs import Runs, dropped, gains, suspects
from experiments.studies.clean_sets import SETS

ROOT = Path(__file__).parents[2]
FOLDERS = {"cpu": "reproduction", "mid": "mid", "paper": "paper"}
"""Where in `results` the pages of a scale lie."""
DOCUMENTS = ("README.md", "docs/reproduce.md", "docs/questions.md")
_BLOCK = re.compile(r"( *)<!-- from records: ([\w-]+) -->\n.*?<!-- end -->", re.S)


def publish(root: Path = ROOT, only: Sequence[str] = ()) -> list[Path]:
    """Write the pages of every scale that has records, or `only` some, and all blocks."""
    written = []
    for scale, name in FOLDERS.items():
        folder = root / "results" / name
        have = [one for one in EXPERIMENTS if (folder / f"records/{one}.json").is_file()]
        if names := [one for one in have if not only or one in only]:
            with temporary_folder() as scratch:
                made = reproduce(
                    names, Selection(scale), out=scratch, records=folder / "records"
                ).index.parent
                for part in ("*.md", "claims/*.json", "tables/*.tex", "images/*.png"):
                    for path in sorted(one for one in made.glob(part) if one.name != MANIFEST):
                        target = folder / path.relative_to(made)
                        target.parent.mkdir(exist_ok=True)
                        shutil.copyfile(path, target)
                shutil.copytree(folder / "claims", scratch / "claims")
                shutil.copyfile(write_index(scratch, scale), folder / INDEX)  # of all there are
            written.append(folder)
    for name in DOCUMENTS:
        path = root / name
        path.write_text(fill(path.read_text("utf-8"), root), "utf-8")
        written.append(path)
    return written


def fill(text: str, root: Path = ROOT) -> str:
    """A document with its blocks as the records have them."""

    def block(found: re.Match[str]) -> str:
        lines = [f"<!-- from records: {found[2]} -->", BLOCKS[found[2]](root), "<!-- end -->"]
        return indent("\n".join(lines), found[1])

    return _BLOCK.sub(block, text)


def records_of(root: Path, scale: str, name: str) -> Records:
    """An experiment's published records."""
    return read_records(root / f"results/{FOLDERS[scale]}/records/{name}.json")


def _mid_leads(root: Path) -> str:
    """Who leads in every column at mid, and how each page's claims of the paper ended."""
    rows, counts = [], []
    for name in EXPERIMENTS:
        if (root / f"results/mid/records/{name}.json").is_file():
            records = records_of(root, "mid", name)
            rows += lead_rows(EXPERIMENTS[name], records)
            if claims := count_outcomes(EXPERIMENTS[name].claims(records), "the paper's"):
                page = f"[{EXPERIMENTS[name].title}](../results/mid/{name}.md)"
                counts.append(f"- {page}: {outcome_words(claims)}.")
    return "\n".join([*lead_table(rows), "", *counts])


def _headline(root: Path) -> str:
    """CIFAR-10 under the attack at mid, with its images, networks and epochs."""
    pruning = records_of(root, "mid", "pruning")
    like = {"data": "cifar10", "noise": "targeted 25 %", "keep": 0.25}
    rows = [
        "| the quarter kept by | wrong labels, % | paper | test accuracy, % | paper |",
        "|---|---:|---:|---:|---:|",
    ]
    for rule in _HEADLINE:
        dirt = pruning.values("contamination", rule=rule, **like)
        reached = pruning.values("accuracy", rule=rule, **like)
        paper = CONTAMINATION["cifar10"].get(rule)
        cells = (
            title_of(rule).partition(",")[0],
            _percent(dirt),
            "" if paper is None else f"{100 * paper:.1f}",
            _percent(reached),
            f"{PRUNING['cifar10'][rule][-1][0]:.1f}",
        )
        rows.append(f"| {' | '.join(cells)} |")
    augmented = next(
        race
        for race in EXPERIMENTS["augmentation"].module.races(
            records_of(root, "mid", "augmentation")
        )
        if race.column.endswith("with augmentation") and "without" not in race.column
    )
    return "\n".join(
        [
            *rows,
            "",
            "CIFAR-10, a quarter of the labels flipped by the paper's attack. Ours: 20,000 images "
            f"at 32 pixels, small CNNs, proxies 20 epochs, targets 16 without augmentation, "
            f"n = {len(dirt)}. Paper: 50,000 images, its networks, 40 and 160 epochs. With "
            f"augmentation DR-IS less Random is {lead_row(augmented)[3]}, and the leader is "
            f"{leader_of(augmented.reached)}.",
        ]
    )


def _percent(values: Sequence[float]) -> str:
    mean, std = mean_std(values)
    return f"{100 * mean:.1f} ± {100 * std:.1f}"


def _mid_proxies(root: Path) -> str:
    """What the proxies of static pruning had learned where they are scored, at mid."""
    like = {"kind": "ensemble", "noise": "targeted 25 %", "data": "cifar10"}
    rows = [row["result"] for row in records_of(root, "mid", "breakdown").where(**like)]

    def between(what: str) -> str:
        values = [100 * value for row in rows for value in row[what]]
        return f"{min(values):.0f} to {max(values):.0f} %"

    return (
        "The proxies have learned where they are scored, after 10 of 20 epochs: under the attack "
        f"at 25 % (n = {len(rows)}) they give {between('fits_clean')} of the right training labels "
        f"and {between('fits_corrupted')} of the wrong ones, and end with "
        f"{between('test_accuracy')} of the test images."
    )


def _memorised(root: Path) -> str:
    """What Random's target memorises by setting, at both scales."""
    told = []
    for scale in ("cpu", "mid"):
        records = records_of(root, scale, "augmentation")
        shares = []
        for setting in augmentation.settings(SCALES[scale]):
            if found := augmentation.reached(records, "memorised", "random", setting):
                mean = 100 * mean_std(list(found.values()))[0]
                shares.append(f"{mean:.0f} % {setting} (n = {len(found)})")
        told.append(f"at `{scale}` {', '.join(shares)}")
    return f"Random's target memorises, of its wrong labels, {'; '.join(told)}."


def _clean(root: Path) -> str:
    """What `dris clean` came to on sets that nothing had been run on."""
    runs = Runs(read_cells(root / "results/records/clean.jsonl").values())
    fresh = runs.where(lambda name, _: not (SETS[name].chose or SETS[name].seen))
    above = [fmean(pair[k] for pair in gains(fresh, "clean").values()) for k in (0, 1)]
    clean = [dropped(arms["clean"]) for (_, noise, _), arms in fresh.by.items() if noise == "none"]
    expected, wrong, size = suspects(fresh)
    noises, seeds = ({key[k] for key in fresh.by} for k in (1, 2))
    return (
        f"On {len(fresh.sets())} data sets that nothing had been run on ({len(noises) - 1} kinds "
        f"of noise and none, n = {len(seeds)}) targets trained on what `clean` keeps are on "
        f"average {above[0]:.1f} points above those trained on everything, and {above[1]:.1f} "
        "above the best of three cleanlab models, picked with the truth at hand. Of clean data it "
        f"drops {fmean(clean):.2f} %. Of its suspects {100 * wrong / size:.0f} % are wrong; it "
        f"expects {100 * expected / size:.0f} %."
    )


_HEADLINE = ("random", "el2n", "aum", "rank_variance")
BLOCKS: dict[str, Callable[[Path], str]] = {
    "mid-leads": _mid_leads,
    "mid-proxies": _mid_proxies,
    "memorised": _memorised,
    "headline": _headline,
    "clean": _clean,
    "questions": lambda root: questions(),
}
