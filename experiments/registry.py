"""The experiments by name: what each is, where the paper has it, and the module that defines it."""

import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any

from dris import InputError
from experiments.dris_internals import suggest_name
from experiments.records import Records
from experiments.results.claims import Claim
from experiments.results.table import Table
from experiments.scales import Scale
from experiments.spec import Cell


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment; its module's docstring gives command, cost and claims.

    The module offers `cells`, `tables`, `figures` and `claims`, and may offer `CUTS` (how a scale
    is cut), `NUMBERS` (what a number on its page is), `words(records)` (paragraphs that open the
    page) and `races(records)` (columns in which a rule leads).

    Attributes:
        name: As the command and the result files have it; the module's name too.
        title: Head of its page.
        about: One line for the list.
        paper: Where the paper shows it, such as "table 1"; empty where the study is ours.
        labels: LaTeX labels of those places.
        ours: Patterns of rules and noises in it that the paper does not have.
    """

    name: str
    title: str
    about: str
    paper: str = ""
    labels: tuple[str, ...] = ()
    ours: tuple[str, ...] = ("gated*", "recommended")

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names that the command takes.

        >>> EXPERIMENTS["pruning"].aliases
        ('table1', 'table-1', 'tab:cifar_pruning')
        """
        places = [place for place in self.paper.split(", ") if place]
        written = [place.replace(" ", mark) for place in places for mark in ("", "-")]
        return (*written, *self.labels)

    @property
    def module(self) -> ModuleType:
        """The file that defines it, in `experiments.paper` or `experiments.own`."""
        return importlib.import_module(f"experiments.{self._folder}.{self.name}")

    @property
    def _folder(self) -> str:
        return "paper" if self.paper else "own"

    def cells(self, scale: Scale) -> list[Cell]:
        """Everything that is run."""
        cells: list[Cell] = self.module.cells(scale)
        return cells

    def tables(self, records: Records) -> Sequence[Table]:
        """What is shown as numbers."""
        tables: Sequence[Table] = self.module.tables(records)
        return tables

    def figures(self, records: Records, folder: Path) -> Sequence[Path]:
        """What is shown as pictures, written as PNG and SVG; the PNG's paths."""
        paths: Sequence[Path] = self.module.figures(records, folder)
        return paths

    def claims(self, records: Records) -> Sequence[Claim]:
        """What the paper, or we, say of it, one by one; smoke tests nothing but that it runs."""
        claims: Sequence[Claim] = self.module.claims(records)
        if records.scale == "smoke":
            return [replace(claim, outcome="not testable at this scale") for claim in claims]
        return claims

    def optional(self, name: str, default: Any) -> Any:
        """What its module may offer."""
        return getattr(self.module, name, default)

    def is_printed(self, cell: Cell) -> bool:
        """Whether the paper prints something that a cell stands beside.

        Not our rules, nor draws without weights and other readings.
        """
        what = cell.rule, str(cell.noise)
        ours = any(fnmatchcase(name, pattern) for name in what for pattern in self.ours)
        return bool(self.paper) and not ours

    def printed_cells(self, cells: Sequence[Cell]) -> list[Cell]:
        """The cells that the paper has, its ensembles measured by its own rules alone.

        >>> from experiments.scales import SCALES
        >>> breakdown = EXPERIMENTS["breakdown"]
        >>> cells = breakdown.printed_cells(breakdown.cells(SCALES["paper"]))
        >>> sorted({cell.rule for cell in cells})
        ['aum', 'el2n', 'plain', 'random', 'rank_variance']
        """
        return [
            replace(cell, rule="plain") if cell.rule == "plain+gated" else cell
            for cell in cells
            if self.is_printed(cell)
        ]


_ONLINE = ("gated*", "loss_is*", "uniform_hybrid*", "*weights=0*", "uniform 25 %")
EXPERIMENTS = {
    one.name: one
    for one in (
        Experiment(
            "pruning",
            "Static pruning",
            "Static pruning under four kinds of noise",
            "table 1",
            ("tab:cifar_pruning",),
        ),
        Experiment(
            "contamination",
            "Subset contamination",
            "What is corrupt in each subset",
            "table 2",
            ("tab:noise_recovery_inline",),
        ),
        Experiment(
            "kablation",
            "How many proxies",
            "Histograms and gap of rank variance as K grows",
            "figure 1",
            ("fig:K_ablation",),
        ),
        Experiment(
            "online",
            "Online importance sampling",
            "Online importance sampling",
            "table 3",
            ("tab:online_is",),
            _ONLINE,
        ),
        Experiment(
            "food", "Food-101", "Food-101 with pretrained backbones", "table 4", ("tab:food101",)
        ),
        Experiment(
            "significance",
            "DR-IS against Random, paired over seeds",
            "DR-IS against Random, paired over seeds",
            "table 5",
            ("tab:paired_t_headline",),
        ),
        Experiment(
            "keep",
            "Keep fraction",
            "Keep fractions 0.25, 0.5 and 0.75",
            "table 6",
            ("tab:alpha_sweep",),
        ),
        Experiment(
            "breakdown",
            "Corruption rate",
            "Corruption rates up to 0.5",
            "figure 2",
            ("fig:breakdown_curve",),
        ),
        Experiment(
            "diversity",
            "Proxy diversity",
            "Alike and different proxies",
            "table 7, figure 3",
            ("tab:proxy_diversity", "fig:proxy_diversity"),
        ),
        Experiment(
            "proxytypes",
            "Proxy types",
            "Proxy types on MNIST",
            "figure 4, figure 5, figure 6",
            ("fig:mnist_dris_gap", "fig:mnsit_ablation", "fig:mnist_aum"),
        ),
        Experiment(
            "hybrid",
            "Hybrid scores",
            "Rank variance mixed with other signals",
            "table 8",
            ("tab:hybrid_ablation",),
            ("*scaled*", "*method=*"),
        ),
        Experiment(
            "times",
            "Running times",
            "Seconds per method, proxies included",
            "table 9",
            ("tab:wallclock_t1",),
        ),
        Experiment(
            "synthetic",
            "The synthetic study",
            "The synthetic study in R^20",
            "table 10",
            ("tab:synthetic",),
        ),
        Experiment(
            "smoothing",
            "The smoothing of DR-IS-online",
            "The smoothing of DR-IS-online",
            "appendix C",
            ("app:smoothing",),
            _ONLINE,
        ),
        Experiment("epoch", "Scoring epoch", "The scoring epoch, which the paper leaves open"),
        Experiment(
            "theorems",
            "The theorems on trained ensembles",
            "The three theorems on trained ensembles, their assumptions measured",
        ),
        Experiment(
            "future_work",
            "What the paper leaves for later",
            "Noise on inputs, balance of the subset, an epoch picked without the truth",
        ),
        Experiment(
            "augmentation",
            "Targets with and without augmentation",
            "Targets with and without augmentation, and which wrong labels they memorise",
        ),
        Experiment(
            "natural",
            "Errors that people made",
            "People's own label errors (CIFAR-10N): what each rule keeps of them",
        ),
        Experiment(
            "verdict",
            "The verdict on known noise",
            "What the checks say of each noise, and whether the limits hold",
        ),
        Experiment(
            "beyond",
            "The recommended rule beside the others",
            "The recommended rule beside the others, on tables and features",
        ),
    )
}


def experiment_of(name: str) -> Experiment:
    """An experiment by its name, its place in the paper or its label there.

    >>> {experiment_of(name).name for name in ("Table 1", "tab1", "tab:cifar_pruning", "pruning")}
    {'pruning'}
    """
    plain = _plain(name)
    for one in EXPERIMENTS.values():
        if plain in map(_plain, (one.name, *one.aliases)):
            return one
    near = suggest_name(name, EXPERIMENTS)
    raise InputError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {name!r}{near}")


def _plain(name: str) -> str:
    """A name as people may type it: "Table 1", table-1 and tab1 are one."""
    return re.sub(r"[\s_-]", "", name.lower()).replace("table", "tab").replace("figure", "fig")
