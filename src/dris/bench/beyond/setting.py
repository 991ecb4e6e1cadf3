"""What the study runs: data sets, kinds of noise, keep fractions, and the list of its cells."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from dris.bench.spec import Noise
from dris.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Study:
    """One data set's proxies and targets.

    Attributes:
        data: Name of the study; `known` is the name of the data set it loads.
        examples: How many training examples are drawn, all when None.
        model: "mlp" (`SmallMLP`, 64 hidden units for proxies and attacker, 128 for targets) or a
            network by name.
        canaries: Share of the given labels flipped for the gated rules' own proxies.
    """

    data: str
    known: str
    examples: int | None
    model: str
    proxy_epochs: int
    proxy_batch: int
    target_epochs: int
    target_batch: int
    canaries: float
    proxies: int = 3


STUDIES = {
    study.data: study
    for study in (
        Study("digits", "digits", None, "mlp", 20, 64, 25, 128, 0.1),
        Study("fashion-mnist", "fashion-mnist", 6000, "mlp", 10, 128, 10, 128, 0.04),
        Study("fashion-mnist-small", "fashion-mnist", 1500, "mlp", 40, 32, 40, 64, 0.1),
        Study("cifar10", "cifar10", 10_000, "small_cnn", 12, 128, 10, 128, 0.04),
        Study("cifar10-features", "cifar10", 10_000, "mlp", 10, 128, 10, 128, 0.04),
        Study("food101-mini", "food101", None, "mlp", 20, 64, 25, 128, 0.1),
    )
}


TABLE = (
    Noise("clean", 0.0),
    Noise("uniform", 0.1),
    Noise("targeted", 0.1),
    Noise("targeted", 0.25),
)
KEEPS = (0.25, 0.5, 0.75)
RATES = (0.1, 0.25, 0.4, 0.5)
SWEEP = tuple(Noise(kind, rate) for kind in ("uniform", "targeted") for rate in RATES)
HARD = (Noise("uniform", 0.4), Noise("targeted", 0.4))  # where AUM overtakes DR-IS in the paper


@dataclass(frozen=True, slots=True)
class Cell:
    """One target: a rule's subset of one noisy data set, under one seed."""

    study: Study
    noise: Noise
    keep: float
    rule: str
    seed: int

    @property
    def key(self) -> str:
        """A hash of everything in the cell: the name of its record.

        >>> a = Cell(STUDIES["digits"], TABLE[0], 0.25, "random", 0)
        >>> len(a.key), a.key == replace(a, seed=1).key
        (16, False)
        """
        text = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def settings_of(noise: Noise) -> tuple[float, ...]:
    """The keep fractions that are run under a noise.

    >>> settings_of(Noise("targeted", 0.25)), settings_of(Noise("uniform", 0.5))
    ((0.25, 0.5, 0.75), (0.25,))
    """
    if noise in TABLE:
        return KEEPS
    return (0.25, 0.5) if noise in HARD else (0.25,)


def noises() -> tuple[Noise, ...]:
    """Every noise of the study, each once.

    >>> len(noises())
    9
    """
    return tuple(dict.fromkeys((*TABLE, *SWEEP)))


def noise_of(text: str) -> Noise:
    """A noise as it is written on the command line: "clean", or kind:rate.

    >>> noise_of("targeted:0.25")
    Noise(kind='targeted', rate=0.25)
    """
    known = {"clean": TABLE[0], **{f"{n.kind}:{n.rate:g}": n for n in noises()[1:]}}
    if text not in known:
        raise InputError(f"noise must be one of {', '.join(known)}, got {text!r}")
    return known[text]


def cells_of(
    study: Study, noise: Noise, seed: int, rules: Sequence[str], variants: Sequence[str] = ()
) -> list[Cell]:
    """All targets that share one set of proxies; variants only where two fractions are kept.

    >>> len(cells_of(STUDIES["digits"], TABLE[0], 0, ["random", "aum"], ["other"]))
    8
    """
    keeps = settings_of(noise)
    pairs = [(keep, rule) for keep in keeps for rule in rules]
    if len(keeps) > 1:
        pairs += [(keep, rule) for keep in keeps[:2] for rule in variants]
    return [Cell(study, noise, keep, rule, seed) for keep, rule in pairs]


def study_of(name: str, examples: int | None = None) -> Study:
    """A study by name, with another number of examples if asked.

    >>> study_of("cifar10", 500).examples
    500
    """
    if name not in STUDIES:
        raise InputError(f"data must be one of {', '.join(STUDIES)}, got {name!r}")
    study = STUDIES[name]
    return study if examples is None else replace(study, examples=examples)
