"""The main job in about a minute, on real digits: attack, score, select, train, judge.

    dris demo            (or: make demo)

A quarter of the labels of scikit-learn's digits is flipped where it hurts most, by an attacker
model. Three small networks train on what is left, six rules each keep a quarter of the data by
what those networks say, and the same target is trained on each subset for the same number of
steps. Claims tested: magnitude scores (EL2N, consensus) collapse below Random; DR-IS keeps
little corruption and ends above Random.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dris.bench.results.statistics import Compared, compare, mean_std
from dris.core.choose.selection import keep_top
from dris.core.dynamics.history import Dynamics
from dris.core.judge.diagnostics import Outcome, contamination
from dris.core.scores.formulas import SCORES
from dris.data.known.catalogue import KnownData, load
from dris.learn.attack import targeted_noise
from dris.learn.proxies import train_proxies
from dris.learn.run.processes import Progress, run_all
from dris.learn.targets import train_target

RULES = {
    "random": "Random",
    "el2n": "EL2N",
    "consensus": "Consensus",
    "forgetting": "Forgetting",
    "aum": "AUM",
    "rank_variance": "DR-IS",
}

ScoreOf = Callable[[str, Dynamics], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Setting:
    """What the demo runs: attack rate ν, keep fraction α, K proxies, epochs, seeds."""

    rate: float = 0.25
    keep: float = 0.25
    proxies: int = 3
    proxy_epochs: int = 20
    target_epochs: int = 30
    batch_size: int = 64
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Run:
    """One rule under one seed."""

    rule: str
    seed: int
    contamination: float
    accuracy: float


@dataclass(frozen=True, slots=True)
class Proxied:
    """One seed's attacked labels and what the proxies thought of them."""

    seed: int
    given: NDArray[np.int64]
    flipped: NDArray[np.bool_]
    dynamics: Dynamics


def load_digits() -> KnownData:
    """scikit-learn's 1,797 digits, pixels scaled to [0, 1], in the library's fixed split.

    >>> load_digits().train_x.shape
    (1442, 64)
    """
    data = load("digits")
    pixels = (data.train_x, data.test_x)
    train_x, test_x = ((x.astype(np.float32) / 16).astype(np.float32) for x in pixels)
    return replace(data, train_x=train_x, test_x=test_x)


def registered(rule: str, dynamics: Dynamics) -> NDArray[np.float64]:
    """The score of a rule as registered."""
    return SCORES[rule](dynamics)


def steps_in(setting: Setting) -> int:
    """How many pieces of work the demo has, for a progress bar.

    >>> steps_in(Setting(seeds=(0,)))
    7
    """
    return len(setting.seeds) * (1 + len(RULES))


def run(
    setting: Setting,
    *,
    score_of: ScoreOf = registered,
    workers: int | None = None,
    progress: Progress | None = None,
) -> tuple[list[Run], list[Proxied]]:
    """Every rule under every seed, in parallel processes; `progress` counts the pieces done."""
    data, total, first = load_digits(), steps_in(setting), len(setting.seeds)
    attacks = [(data, setting, seed) for seed in setting.seeds]
    proxied: list[Proxied] = run_all(
        _attack_and_train, attacks, workers=workers, progress=progress, total=total
    )
    chosen = [
        (part, rule, keep_top(score_of(rule, part.dynamics), fraction=setting.keep, seed=part.seed))
        for part in proxied
        for rule in RULES
    ]
    accuracies: list[float] = run_all(
        _train_and_test,
        [(data, setting, part.given, part.seed, subset.indices) for part, _, subset in chosen],
        workers=workers,
        progress=progress and (lambda done, total: progress(first + done, total)),
        total=total,
    )
    runs = [
        Run(rule, part.seed, contamination(subset.indices, part.flipped), accuracy)
        for (part, rule, subset), accuracy in zip(chosen, accuracies, strict=True)
    ]
    return runs, proxied


def _attack_and_train(
    data: KnownData, setting: Setting, seed: int, tick: Callable[[], None]
) -> Proxied:
    noisy = targeted_noise(data.train_x, data.train_y, setting.rate, seed=seed)
    dynamics = train_proxies(
        data.train_x,
        noisy.given,
        proxies=setting.proxies,
        epochs=setting.proxy_epochs,
        # The control's random score hashes (seed, id): ids that carry the seed redraw it.
        ids=np.arange(len(data.train_x)) + seed * len(data.train_x),
        seed=seed,
        workers=1,
    )
    tick()
    return Proxied(seed, noisy.given, noisy.flipped, dynamics)


def _train_and_test(
    data: KnownData,
    setting: Setting,
    given: NDArray[np.int64],
    seed: int,
    indices: NDArray[np.int64],
    tick: Callable[[], None],
) -> float:
    from sklearn.neural_network import MLPClassifier

    target = MLPClassifier((128,), solver="sgd", learning_rate_init=0.05, momentum=0.9)
    trained = train_target(
        target,
        data.train_x,
        given,
        indices,
        epochs=setting.target_epochs,
        batch_size=setting.batch_size,
        seed=seed,
        classes=10,
        standardize=False,  # pixels are in [0, 1] already
    )
    tick()
    return float(trained.model.score(data.test_x, data.test_y))


# -- judging: computed from the runs, whatever they say -----------------------------------------


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the runs say of the method: holds, fails or cannot tell, and in words."""

    outcome: Outcome
    text: str


_LEADS: dict[Outcome, str] = {
    "holds": "The method works here",
    "fails": "The method does not work here",
    "cannot tell": "These seeds cannot tell whether the method works here",
}


def values(runs: Sequence[Run], rule: str, what: str) -> list[float]:
    """One rule's contamination or accuracy, seed by seed."""
    return [getattr(r, what) for r in sorted(runs, key=lambda r: r.seed) if r.rule == rule]


def judge(runs: Sequence[Run], setting: Setting) -> Judgement:
    """Compare each rule with Random over seeds (paired, one-sided t, p < 0.05) and say it.

    Holds: DR-IS keeps less corruption and its target is better. Fails: its target is worse, or it
    keeps more than half of Random's corruption. Otherwise the seeds cannot tell.
    """
    seeds = len(setting.seeds)
    versus = {
        rule: {
            what: compare(values(runs, rule, what), values(runs, "random", what))
            for what in ("contamination", "accuracy")
        }
        for rule in RULES
        if rule != "random"
    }
    ours = versus["rank_variance"]
    kept, chance = (values(runs, r, "contamination") for r in ("rank_variance", "random"))
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
    collapsed = [RULES[r] for r, v in versus.items() if v["accuracy"].outcome == "below"]
    ahead = [RULES[r] for r, v in versus.items() if v["accuracy"].outcome == "above"]
    fell = (
        f"{_listed(collapsed)} fall{'s' * (len(collapsed) == 1)} below Random, by "
        f"{max(-versus[r]['accuracy'].difference for r in versus) * 100:.1f} points at worst."
        if collapsed
        else "No rule falls below Random."
    )
    best = max(RULES, key=lambda r: mean_std(values(runs, r, "accuracy"))[0])
    cleanest = min(RULES, key=lambda r: mean_std(values(runs, r, "contamination"))[0])
    rest = (
        f"{_listed(ahead) if ahead else 'No rule'} end{'s' * (len(ahead) < 2)} above Random; the "
        f"best target is {RULES[best]}'s, the cleanest subset {RULES[cleanest]}'s."
    )
    how = f"(Paired over {seeds} seeds, one-sided t, p < 0.05.)"
    return Judgement(outcome, " ".join((lead, fell, rest, how)))


def _points(compared: Compared) -> str:
    if compared.outcome == "undecided":
        return "indistinguishable from"
    return f"{abs(compared.difference) * 100:.1f} points {compared.outcome}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
