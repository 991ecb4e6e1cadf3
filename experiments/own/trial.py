"""Which rule wins on a user's own data: simulated attacks, every rule, a small target on each.

A part of the data is held out to test on. The labels of the rest are attacked in known ways; each
rule looks at the proxies it needs (a gated rule at some that trained with canaries among their
labels), keeps its part, and the same target is trained on each for the same number of steps. What
is already wrong in the given labels stays there, unknown: contamination counts simulated flips.
"""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dris import InputError, LabelledData
from experiments.dris_internals import (
    Engine,
    Progress,
    Recipe,
    canaries_needed,
    check_count,
    count_of,
    exact,
    fingerprint,
    rng_for,
)
from experiments.records import Records, gather
from experiments.results.statistics import Compared, compare, mean_std
from experiments.rules import title_of
from experiments.runner import run
from experiments.spec import CLEAN, Cell, Ensemble, Noise, Source, Target
from experiments.workspace import Loaded, Workspace

RULES = ("random", "el2n", "aum", "rank_variance", "gated")
LEAST = 200  # examples: below, neither the hold-out nor the canaries can tell anything
_TRUSTED_ENOUGH = 100  # trusted labels that are worth testing on alone


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
        check_count(self.seeds, "seeds", at_least=3)
        check_count(self.proxies, "proxies", at_least=2)
        check_count(self.epochs, "epochs", at_least=1)
        check_count(self.examples, "examples", at_least=LEAST)
        count_of(self.keep, self.examples, "keep")
        if not 0 < exact(self.rate, "rate") < 1:
            raise InputError(f"rate must be in (0, 1), got {self.rate}")

    @property
    def attacks(self) -> tuple[Noise, ...]:
        """The columns of the table."""
        return CLEAN, Noise("uniform", self.rate), Noise("targeted", self.rate)


DEFAULT = Trial()


def attack_name(attack: Noise) -> str:
    """An attack in the words of the table.

    >>> attack_name(Noise("targeted", 0.25)), attack_name(CLEAN)
    ('targeted 25 %', 'as given')
    """
    return "as given" if attack == CLEAN else str(attack)


@dataclass(frozen=True, slots=True)
class Split(Loaded):
    """A user's examples, and what has to be said about how they were split."""

    notes: tuple[str, ...]

    @property
    def images(self) -> bool:
        """Whether networks for images are trained."""
        return self.x.ndim == 4


def run_trial(
    data: LabelledData,
    trial: Trial = DEFAULT,
    *,
    store: Path,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | str = "local",
) -> tuple[Records, Split]:
    """Every rule under every attack and seed; killed, the same call goes on from the store.

    On Ray each attack and seed is a task, and its node must see the store's folder.
    """
    split = hold_out(data, trial)
    wanted = cells(trial, split)
    result = run(
        wanted,
        out=store,
        workspace=Workspace(store, own=split),
        workers=workers,
        progress=progress,
        engine=engine,
    )
    return gather("trial", "own", result), split


def cells(trial: Trial, split: Split) -> list[Cell]:
    """The cells of a trial: proxies like those of `dris score`, and a target a little larger."""
    proxy, target = ("small_cnn", "small_cnn") if split.images else ("small_mlp", "small_mlp_128")
    batch = 128 if split.images else 64
    how = Recipe(trial.epochs, batch, 0.05)
    attacker = Recipe(trial.epochs, batch, 0.05, scored_epoch=trial.epochs)
    source = Source("your data", own=fingerprint(split.x, split.y, split.test_y))
    share = canary_share(len(split.y))
    ensemble = Ensemble((proxy,), trial.proxies, how, proxy, attacker, share)
    return [
        Cell("static", source, attack, ensemble, rule, trial.keep, Target(target, how), seed)
        for attack in trial.attacks
        for seed in range(trial.seeds)
        for rule in RULES
    ]


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


def canary_share(n: int) -> float:
    """4 % of the labels; more of small data, for few canaries make a gate that lets little by.

    With as many as the gate can do with, its cut is the largest of their margins; five times as
    many are wished for, up to a tenth of the labels.

    >>> canary_share(10_000), canary_share(2_000), canary_share(400)
    (0.04, 0.1, 0.165)
    """
    enough = canaries_needed()
    return round(max(0.04, min(0.1, 10 * enough / n), (2 * enough + 8) / n), 6)


# -- what the records say ------------------------------------------------------------------------


def values(records: Records, attack: Noise, rule: str, what: str) -> list[float]:
    """One rule's numbers under one attack, seed by seed."""
    return records.values(what, noise=attack, rule=rule)


@dataclass(frozen=True, slots=True)
class Winner:
    """The rule with the highest mean accuracy under an attack, and its lead over the next."""

    attack: Noise
    rule: str
    next: str
    lead: Compared

    def __str__(self) -> str:
        sure = "decided" if self.lead.outcome == "above" else "too close to call"
        p = "no spread" if self.lead.p is None else f"p = {self.lead.p:.2g}"
        return (
            f"{attack_name(self.attack)}: {title_of(self.rule)}, "
            f"{100 * self.lead.difference:.1f} points before {title_of(self.next)} "
            f"({sure}, {p})"
        )


def winners(records: Records, trial: Trial = DEFAULT) -> list[Winner]:
    """The best rule of every attack, with a paired one-sided t test against the second best.

    A run that kept nothing, whose accuracy is a guess, wins nothing.
    """
    result = []
    for attack in trial.attacks:
        reached = {rule: records.by_seed("accuracy", noise=attack, rule=rule) for rule in RULES}
        means = {
            r: mean_std(list(result.values()))[0] if result else -1.0
            for r, result in reached.items()
        }
        first, second = sorted(means, key=lambda rule: -means[rule])[:2]
        seeds = sorted(set(reached[first]) & set(reached[second]))
        pair = ([reached[rule][seed] for seed in seeds] for rule in (first, second))
        result.append(Winner(attack, first, second, compare(*pair)))
    return result


def steadiest(records: Records, trial: Trial = DEFAULT) -> tuple[str, float]:
    """The rule whose worst loss against the best of a column is smallest, and that loss."""
    worst = dict.fromkeys(RULES, 0.0)
    for attack in trial.attacks:
        mean = {rule: mean_std(values(records, attack, rule, "accuracy"))[0] for rule in RULES}
        worst = {rule: max(worst[rule], max(mean.values()) - mean[rule]) for rule in RULES}
    rule = min(worst, key=lambda name: worst[name])
    return rule, worst[rule]
