"""The experiments by name, each a module of `bench.paper` or `bench.own`, and what each has."""

import importlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, cast

from dris import InputError
from experiments.records import Records
from experiments.results.claims import Claim
from experiments.results.table import Table
from experiments.scales import Scale
from experiments.spec import Cell


class Experiment(Protocol):
    """What a module of `bench.paper` offers; its docstring gives command, cost and claims.

    It may offer `CUTS` (how each scale is cut), `NUMBERS` (what a number on its page is) and
    `words(records)` (paragraphs that open the page).
    """

    TITLE: str
    __doc__: str | None

    def cells(self, scale: Scale) -> list[Cell]:
        """Everything that is run."""

    def tables(self, records: Records) -> Sequence[Table]:
        """What is shown as numbers."""

    def figures(self, records: Records, folder: Path) -> Sequence[Path]:
        """What is shown as pictures, written as PNG and SVG; the PNG's paths."""

    def claims(self, records: Records) -> Sequence[Claim]:
        """What the paper says of it, one by one."""


EXPERIMENTS = {
    "pruning": "Static pruning under four kinds of noise (paper, table 1; items 1 and 15)",
    "contamination": "What is corrupt in each subset (paper, table 2; item 2)",
    "kablation": "Histograms and gap of rank variance as K grows (paper, figure 1; item 3)",
    "online": "Online importance sampling (paper, table 3; item 4)",
    "food": "Food-101 with pretrained backbones (paper, table 4; item 5)",
    "significance": "DR-IS against Random, paired over seeds (paper, table 5; item 6)",
    "keep": "Keep fractions 0.25, 0.5 and 0.75 (paper, table 6; item 7)",
    "breakdown": "Corruption rates up to 0.5 (paper, figure 2; item 8)",
    "diversity": "Alike and different proxies (paper, table 7 and figure 3; item 9)",
    "proxytypes": "Proxy types on MNIST (paper, figures 4 to 6; item 10)",
    "hybrid": "Rank variance mixed with other signals (paper, table 8; item 11)",
    "times": "Seconds per method, proxies included (paper, table 9; item 12)",
    "synthetic": "The synthetic study in R^20 (paper, table 10; item 13)",
    "smoothing": "The smoothing of DR-IS-online (paper, appendix C; item 14)",
    "epoch": "The scoring epoch, which the paper leaves open (item 16)",
    "theorems": "The three theorems on trained ensembles, their assumptions measured (ours)",
    "later": "Noise on inputs, balance of the subset, an epoch picked without the truth (ours)",
    "augmentation": "Targets with and without augmentation, and what they learn by heart (ours)",
    "verdict": "What dris judge says of each noise, and whether its limits hold (ours)",
    "beyond": "The recommended rule beside the others, on tables and features (ours)",
}

_ELSEWHERE = {
    "online": "paper.online_draws",
    "theorems": "own.proved",
    "later": "own.later",
    "augmentation": "own.augmentation",
    "verdict": "own.verdict",
    "beyond": "own.beyond",
}
"""Modules of another room, or of another name: a module's name occurs once in `dris`."""


def experiment_of(name: str) -> Experiment:
    """An experiment by name.

    >>> experiment_of("pruning").TITLE
    'Static pruning'
    """
    if name not in EXPERIMENTS:
        raise InputError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    module = _ELSEWHERE.get(name, f"paper.{name}")
    return cast(Experiment, importlib.import_module(f"experiments.{module}"))


_OURS = ("beyond", "theorems", "later", "augmentation", "verdict", "epoch")
_OUR_RULES = ("gated", "recommended", "loss_is", "uniform_hybrid", "hybrid_")


def in_paper(name: str, cell: Cell) -> bool:
    """Whether the paper prints something that an experiment's cell stands beside.

    Not our rules, nor draws without weights, other readings and scoring epochs.

    >>> from experiments.scales import SCALES
    >>> cells = experiment_of("pruning").cells(SCALES["paper"])
    >>> sorted({cell.rule for cell in cells if not in_paper("pruning", cell)})
    ['gated']
    """
    ours = cell.rule.startswith(_OUR_RULES) or cell.rule.endswith(":0") or "@" in cell.rule
    return name not in _OURS and not ours


def as_printed(name: str, cells: Sequence[Cell]) -> list[Cell]:
    """The cells that the paper has, its ensembles measured by its own rules alone.

    >>> from experiments.scales import SCALES
    >>> cells = experiment_of("breakdown").cells(SCALES["paper"])
    >>> sorted({cell.rule for cell in as_printed("breakdown", cells)})
    ['aum', 'el2n', 'plain', 'random', 'rank_variance']
    """
    return [
        replace(cell, rule="plain") if cell.rule == "plain+gated" else cell
        for cell in cells
        if in_paper(name, cell)
    ]


def narrowed(
    cells: Sequence[Cell],
    *,
    data: Sequence[str] = (),
    rules: Sequence[str] = (),
    noises: Sequence[str] = (),
    examples: int | None = None,
    backbone: str | None = None,
) -> list[Cell]:
    """The cells of some data sets, rules and noises, on fewer examples or other features if asked.

    A data set is its name, or name:examples; "default" is the default gated rule; a noise is clean
    or kind:rate.
    """

    def kept(what: str, wanted: Sequence[str], names: Sequence[tuple[str, ...]]) -> list[bool]:
        known = dict.fromkeys(name for each in names for name in each)
        if unknown := [name for name in wanted if name not in known]:
            raise InputError(f"{what} must be one of {', '.join(known)}, got {unknown[0]!r}")
        return [not wanted or any(name in wanted for name in each) for each in names]

    sources = [cell.source for cell in cells]
    asked = [
        kept("data", data, [(s.name, f"{s.name}:{s.examples or 'all'}") for s in sources]),
        kept("rule", ["gated" if r == "default" else r for r in rules], [(c.rule,) for c in cells]),
        kept("noise", noises, [(_written(cell),) for cell in cells]),
    ]
    found = [cell for cell, *wanted in zip(cells, *asked, strict=True) if all(wanted)]
    if examples is not None:
        found = [replace(c, source=replace(c.source, examples=examples)) for c in found]
    if backbone is not None:
        found = [
            replace(c, source=replace(c.source, backbone=backbone)) if c.source.backbone else c
            for c in found
        ]
    return list(dict.fromkeys(found))


def _written(cell: Cell) -> str:
    noise = cell.noise
    return noise.kind if noise.kind == "clean" else f"{noise.kind}:{noise.rate:g}"
