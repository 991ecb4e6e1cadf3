"""What determines a result: data, noise, proxies, rule, target and seed, frozen into a cell."""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from experiments.dris_internals import Recipe


@dataclass(frozen=True, slots=True, order=True)
class Noise:
    """A kind of label noise and its rate; clean data have rate 0.

    >>> str(Noise("targeted", 0.25))
    'targeted 25 %'
    """

    kind: str
    rate: float

    def __str__(self) -> str:
        return self.kind if self.kind == "clean" else f"{self.kind} {100 * self.rate:g} %"


CLEAN = Noise("clean", 0.0)
ALL_WEIGHTS = "targeted by all weights"
"""The attack by the gradient norm of every weight instead of the last layer's."""


@dataclass(frozen=True, slots=True)
class Source:
    """A known data set, whole or cut down, or somebody's own.

    Attributes:
        name: As `python -m experiments data` lists it.
        examples: How many training examples are drawn, all when None.
        tests: How many test examples are drawn, all when None.
        side: Pixels of a side, images averaged over blocks; None leaves them.
        backbone: Frozen features by this function instead of images.
        own: Fingerprint of a person's own data, which the runner is handed beside the cells.

    >>> str(Source("cifar10", 8_000, 5_000, 16))
    'cifar10, 8,000 examples, 16 × 16 pixels'
    """

    name: str
    examples: int | None = None
    tests: int | None = None
    side: int | None = None
    backbone: str | None = None
    own: str | None = None

    def __str__(self) -> str:
        parts = [self.name]
        if self.examples is not None:
            parts.append(f"{self.examples:,} examples")
        if self.side is not None:
            parts.append(f"{self.side} × {self.side} pixels")
        if self.backbone is not None:
            parts.append(f"features of {short_name(self.backbone)}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Ensemble:
    """K proxies, and the attacker that targets the noise they see.

    Attributes:
        models: Names of networks, dealt out to the K proxies.
        count: K.
        recipe: How each proxy trains.
        attacker: Name of the attacker's network.
        attack: How it trains, on the true labels.
        canaries: Share of the given labels flipped for the gated rules' own proxies.

    >>> how = Recipe(4, 64, 0.05)
    >>> str(Ensemble(("fc",), 3, how, "fc", how))
    '3 × fc'
    """

    models: tuple[str, ...]
    count: int
    recipe: Recipe
    attacker: str
    attack: Recipe
    canaries: float = 0.04

    def __str__(self) -> str:
        each = self.count // len(self.models)
        names = [short_name(model) for model in self.models]
        return " + ".join(name if each == 1 else f"{each} × {name}" for name in names)


def short_name(model: str) -> str:
    """A model as tables show it: its name, or the function at the end of an import path.

    >>> short_name("experiments.networks.vgg:vgg19_bn"), short_name("resnet20")
    ('vgg19_bn', 'resnet20')
    """
    return model.rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class Target:
    """The network that is trained on what a rule keeps."""

    model: str
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class Cell:
    """One result: what is measured (`kind`), of which rule, on what, under which seed.

    >>> from dataclasses import replace
    >>> how = Recipe(4, 64, 0.05)
    >>> proxies = Ensemble(("fc",), 3, how, "fc", how)
    >>> a = Cell("static", Source("digits"), CLEAN, proxies, "aum", 0.25, Target("fc", how), 0)
    >>> len(a.key), a.key == replace(a, seed=1).key, a.group == replace(a, keep=0.5).group
    (16, False, True)
    """

    kind: str
    source: Source
    noise: Noise
    ensemble: Ensemble
    rule: str
    keep: float
    target: Target | None
    seed: int

    def __str__(self) -> str:
        target = "" if self.target is None else f", {self.target.model}"
        return (
            f"{self.kind}, {self.source}, {self.noise}, {self.ensemble}, {self.rule}, "
            f"keep {self.keep:g}{target}, seed {self.seed}"
        )

    @property
    def key(self) -> str:
        """A hash of everything in the cell: the name of its record."""
        return key_of(self.content)

    @property
    def content(self) -> dict[str, Any]:
        """The cell as values that JSON can hold."""
        return asdict(self)

    @property
    def group(self) -> tuple[str, Source, Noise, Ensemble, int]:
        """What cells that share their proxies have in common."""
        return self.kind, self.source, self.noise, self.ensemble, self.seed


def key_of(content: object) -> str:
    """The hash of a cell as JSON holds it."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
