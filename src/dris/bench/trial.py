"""Which rule wins on a user's own data: simulated attacks, every rule, a small target on each.

A part of the data is held out to test on. The labels of the rest are attacked in known ways; the
proxies train on the attacked labels with canaries in them, as `dris score` does, every rule
keeps its part, and the same target is trained on each for the same number of steps. What is
already wrong in the given labels stays there, unknown: contamination counts the simulated flips.
"""

import hashlib
import importlib.util
import json
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.bench.beyond.mlp import SmallMLP
from dris.bench.cell_data import Loaded
from dris.bench.results.statistics import Compared, compare, mean_std
from dris.core.checks import checked_count, count_of, exact
from dris.core.choose.gate import DEFAULT_GATED, NothingPassesError, canaries_needed
from dris.core.dynamics.arrayfile import made_folder, write_atomically
from dris.core.errors import InputError
from dris.core.noise.flips import NoisyLabels, flip_labels
from dris.core.streams import rng_for
from dris.data.labelled import LabelledData
from dris.decide.scored import Scored, Settings, score_data
from dris.learn.attack import attacker_norms
from dris.learn.run.engine import Engine
from dris.learn.run.processes import Progress, run_all
from dris.learn.store.run_store import fingerprint
from dris.learn.targets import train_target

RULES = {
    "random": "Random",
    "el2n": "EL2N",
    "aum": "AUM",
    "rank_variance": "DR-IS",
    "gated": "Gated",
}
ATTACKS = ("none", "uniform", "targeted")
LEAST = 200  # examples: below, neither the hold-out nor the canaries can tell anything
_TRUSTED_ENOUGH = 100  # trusted labels that are worth testing on alone


@dataclass(frozen=True, slots=True)
class Attack:
    """A kind of simulated label noise and its rate; "none" leaves the labels as given.

    >>> str(Attack("targeted", 0.25)), str(Attack("none", 0.0))
    ('targeted 25 %', 'as given')
    """

    kind: str
    rate: float

    def __str__(self) -> str:
        return "as given" if self.kind == "none" else f"{self.kind} {100 * self.rate:g} %"


@dataclass(frozen=True, slots=True)
class Trial:
    """What is tried: attacks, keep fraction α, K proxies, seeds, and on how many examples."""

    keep: float = 0.25
    rate: float = 0.25
    seeds: int = 3
    proxies: int = 3
    epochs: int = 20
    examples: int = 6_000

    def __post_init__(self) -> None:
        checked_count(self.seeds, "seeds", at_least=3)
        checked_count(self.examples, "examples", at_least=LEAST)
        count_of(self.keep, self.examples, "keep")
        if not 0 < exact(self.rate, "rate") < 1:
            raise InputError(f"rate must be in (0, 1), got {self.rate}")

    @property
    def attacks(self) -> tuple[Attack, ...]:
        """The columns of the table."""
        return tuple(Attack(kind, 0.0 if kind == "none" else self.rate) for kind in ATTACKS)


DEFAULT = Trial()


@dataclass(frozen=True, slots=True)
class Split(Loaded):
    """A user's examples, and what has to be said about how they were split."""

    notes: tuple[str, ...]

    @property
    def images(self) -> bool:
        """Whether networks for images are trained."""
        return self.x.ndim == 4


@dataclass(frozen=True, slots=True)
class Cell:
    """One rule under one attack and seed, and what came of it.

    A rule that keeps nothing (size 0) reaches what guessing the most common class does.
    """

    attack: Attack
    rule: str
    seed: int
    accuracy: float
    contamination: float
    size: int


def run_trial(
    data: LabelledData,
    trial: Trial = DEFAULT,
    *,
    store: Path,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | str = "local",
) -> tuple[list[Cell], Split]:
    """Every rule under every attack and seed; killed, the same call goes on from the store.

    On Ray each attack and seed is a task, and its node must see the store's folder.
    """
    store = store.absolute()
    split = hold_out(data, trial)
    key = {"trial": asdict(trial), "data": fingerprint(split.x, split.y, split.test_y)}
    folder = made_folder(store / "cells")
    groups = [(attack, seed) for attack in trial.attacks for seed in range(trial.seeds)]
    tasks = [(split, trial, attack, seed, key, folder, store) for attack, seed in groups]
    total = len(tasks) * (1 + len(RULES))
    found = run_all(
        _group,
        tasks,
        workers=workers,
        progress=progress,
        total=total,
        engine=engine,
        folder=store,
    )
    return [cell for cells in found for cell in cells], split


def hold_out(data: LabelledData, trial: Trial = DEFAULT) -> Split:
    """A fifth to test on: of the trusted labels when there are enough, else of all given ones.

    >>> rng = np.random.default_rng(0)
    >>> data = LabelledData.of(rng.normal(size=(300, 2)), np.arange(300) % 2, classes=("a", "b"))
    >>> split = hold_out(data)
    >>> len(split.x), len(split.test_x), split.notes[0][:34]
    (240, 60, 'tested on a random fifth of the gi')
    """
    if len(data) < LEAST:
        raise InputError(
            f"a trial needs at least {LEAST} examples, got {len(data)}; "
            "with so few every rule is as good as another"
        )
    rng, notes = rng_for(0, "trial"), []
    order = rng.permutation(len(data))
    if len(data) > trial.examples:
        notes.append(f"tried on {trial.examples:,} of {len(data):,} examples, drawn at random")
        # Trusted labels are few and worth more than others: the sample takes them first.
        order = order[np.argsort(~data.trusted[order], kind="stable")][: trial.examples]
    fifth = len(order) // 5
    trusted = order[data.trusted[order]]
    if trusted.size >= min(_TRUSTED_ENOUGH, fifth):
        test = trusted[:fifth]
        notes.insert(0, f"tested on {test.size:,} trusted labels")
    else:
        test = rng.permutation(order)[:fifth]
        notes.insert(
            0,
            f"tested on a random fifth of the given labels ({fifth:,}), some of which may be wrong "
            "themselves: no rule can reach 100 %, the order of rules is still worth reading",
        )
    train, test = np.setdiff1d(order, test), np.sort(test)
    x = data.x
    if x.ndim == 4 and importlib.util.find_spec("torch") is None:
        x = x.reshape(len(x), -1).astype(np.float32)
        notes.append("torch is not installed, so images are read as tables of pixels")
    return Split(
        x[train], data.labels[train], x[test], data.labels[test], len(data.classes), tuple(notes)
    )


def _group(
    split: Split,
    trial: Trial,
    attack: Attack,
    seed: int,
    key: dict[str, Any],
    folder: Path,
    store: Path,
    tick: Callable[[], None],
) -> list[Cell]:
    """One attacked data set: its proxies, then a target for each rule without a record."""
    found: list[Cell] = []
    paths = {rule: folder / f"{_name(key, attack, rule, seed)}.json" for rule in RULES}
    scored = noisy = None
    if any(not path.exists() for path in paths.values()):
        noisy = attacked(split, trial, attack, seed, store)
        scored = _scored(split, trial, noisy, seed, store)
    tick()
    for rule, path in paths.items():
        if scored is not None and noisy is not None and not path.exists():
            cell = _cell(split, trial, attack, rule, seed, noisy, scored)
            write_atomically(path, [(json.dumps(asdict(cell)) + "\n").encode()])
        held = json.loads(path.read_text())
        found.append(Cell(**{**held, "attack": Attack(**held["attack"])}))
        tick()
    return found


def attacked(split: Split, trial: Trial, attack: Attack, seed: int, store: Path) -> NoisyLabels:
    """The training labels under an attack; the targeted attacker trains a model of its own."""
    if attack.kind == "none":
        return NoisyLabels(split.y, split.y, {"kind": "none"})
    if attack.kind == "uniform":
        return flip_labels(split.y, attack.rate, seed=seed, classes=split.classes)
    model = "small_cnn" if split.images else SmallMLP(hidden=64)
    norms = attacker_norms(
        _standard(split.x), split.y, model=model, epochs=trial.epochs, seed=seed, store=store
    )
    return flip_labels(
        split.y, attack.rate, kind="targeted", norms=norms, seed=seed, classes=split.classes
    )


def canary_share(n: int) -> float:
    """4 % of the labels; more of small data, for few canaries make a gate that lets little by.

    With as many as the gate can do with, its cut is the largest of their margins; five times as
    many are wished for, up to a tenth of the labels.

    >>> canary_share(10_000), canary_share(2_000), canary_share(400)
    (0.04, 0.1, 0.165)
    """
    enough = canaries_needed(DEFAULT_GATED.recall, DEFAULT_GATED.confidence)
    return round(max(0.04, min(0.1, 10 * enough / n), (2 * enough + 8) / n), 6)


def _scored(split: Split, trial: Trial, noisy: NoisyLabels, seed: int, store: Path) -> Scored:
    n = len(split.y)
    settings = Settings(
        proxies=trial.proxies, epochs=trial.epochs, seed=seed, share=canary_share(n)
    )
    data = LabelledData.of(
        split.x,
        noisy.given,
        classes=tuple(range(split.classes)),
        # Random draws hash (seed, id); ids that carry the seed redraw them.
        ids=np.arange(n) + seed * n,
    )
    return score_data(data, settings, workers=1, store=store)


def _cell(
    split: Split,
    trial: Trial,
    attack: Attack,
    rule: str,
    seed: int,
    noisy: NoisyLabels,
    scored: Scored,
) -> Cell:
    kept = _kept(scored, rule, trial.keep)
    if kept.size == 0:
        common = np.bincount(noisy.given, minlength=split.classes).argmax()
        return Cell(attack, rule, seed, float((split.test_y == common).mean()), 0.0, 0)
    run = train_target(
        "small_cnn" if split.images else SmallMLP(hidden=128, learning_rate=0.05),
        split.x,
        noisy.given,
        kept,
        epochs=trial.epochs,
        seed=seed,
        classes=split.classes,
        test=(split.test_x, split.test_y),
    )
    dirt = float(noisy.flipped[kept].mean())
    return Cell(attack, rule, seed, float(run.accuracy or 0.0), dirt, len(kept))


def _kept(scored: Scored, rule: str, keep: float) -> NDArray[np.int64]:
    """What a rule keeps, without canaries; none when nothing passes its gate."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* pass the gate, fewer than")
        try:
            return scored.kept(scored.choose(rule, keep))
        except NothingPassesError:
            return np.empty(0, dtype=np.int64)


def _standard(x: NDArray[Any]) -> NDArray[Any]:
    """Tables with mean 0 and standard deviation 1, for the attacker; images as they are."""
    if x.ndim == 4:
        return x
    spread = x.std(axis=0, dtype=np.float64)
    z: NDArray[Any] = (x - x.mean(axis=0, dtype=np.float64)) / np.where(spread > 0, spread, 1.0)
    return z.astype(np.float32)


def _name(key: dict[str, Any], attack: Attack, rule: str, seed: int) -> str:
    text = json.dumps({**key, "attack": asdict(attack), "rule": rule, "seed": seed}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# -- what the cells say -------------------------------------------------------------------------


def values(cells: Sequence[Cell], attack: Attack, rule: str, what: str) -> list[float]:
    """One rule's numbers under one attack, seed by seed.

    >>> cell = Cell(Attack("none", 0.0), "aum", 0, 0.9, 0.0, 10)
    >>> values([cell], Attack("none", 0.0), "aum", "accuracy")
    [0.9]
    """
    mine = [cell for cell in cells if (cell.attack, cell.rule) == (attack, rule)]
    return [float(getattr(cell, what)) for cell in sorted(mine, key=lambda cell: cell.seed)]


@dataclass(frozen=True, slots=True)
class Winner:
    """The rule with the highest mean accuracy under an attack, and its lead over the next."""

    attack: Attack
    rule: str
    next: str
    lead: Compared

    def __str__(self) -> str:
        sure = "decided" if self.lead.outcome == "above" else "too close to call"
        return (
            f"{self.attack}: {RULES[self.rule]}, {100 * self.lead.difference:.1f} points before "
            f"{RULES[self.next]} ({sure}, p = {self.lead.p:.2g})"
        )


def winners(cells: Sequence[Cell]) -> list[Winner]:
    """The best rule of every attack, with a paired one-sided t test against the second best."""
    found = []
    for attack in dict.fromkeys(cell.attack for cell in cells):
        reached = {rule: values(cells, attack, rule, "accuracy") for rule in RULES}
        first, second = sorted(reached, key=lambda rule: -mean_std(reached[rule])[0])[:2]
        found.append(Winner(attack, first, second, compare(reached[first], reached[second])))
    return found


def steadiest(cells: Sequence[Cell]) -> tuple[str, float]:
    """The rule whose worst loss against the best of a column is smallest, and that loss."""
    attacks = list(dict.fromkeys(cell.attack for cell in cells))
    mean = {
        (a, rule): mean_std(values(cells, a, rule, "accuracy"))[0]
        for a in attacks
        for rule in RULES
    }
    worst = {
        rule: max(max(mean[a, other] for other in RULES) - mean[a, rule] for a in attacks)
        for rule in RULES
    }
    rule = min(worst, key=lambda name: worst[name])
    return rule, worst[rule]
