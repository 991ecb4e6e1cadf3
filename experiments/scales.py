"""How large everything is: the paper's sizes, two cuts for CPU cores, and seconds for tests."""

from dataclasses import dataclass, replace

from dris import InputError
from experiments.dris_internals import RECOMMENDED, Recipe
from experiments.recipes import (
    CIFAR10_TARGET,
    CIFAR100_TARGET,
    CIFAR_ATTACKER,
    CIFAR_PROXY,
)
from experiments.spec import Ensemble, Source, Target


@dataclass(frozen=True, slots=True)
class Setup:
    """A data set with its proxies and target: what a column block of the paper's tables shares."""

    title: str
    source: Source
    ensemble: Ensemble
    target: Target


@dataclass(frozen=True, slots=True)
class Scale:
    """Sizes of one scale; an experiment reads what it needs.

    Attributes:
        cut: How it differs from the paper, in words for the page.
        setups: CIFAR-10 first, then CIFAR-100; digits alone for smoke.
        seeds: Of every cell; `headline` of the paired comparison.
        heterogeneous: The paper's three architectures, for the proxy-diversity ablation.
        proxies: The largest K of the ablation.
        ours: Rules of ours beside the paper's in its tables.
    """

    name: str
    cut: str
    setups: tuple[Setup, ...]
    seeds: int
    headline: int
    heterogeneous: tuple[str, str, str]
    proxies: int
    ours: tuple[str, ...] = ("gated",)


_SMALL = Recipe(epochs=12, batch_size=128, learning_rate=0.05)
_TINY = Recipe(epochs=4, batch_size=64, learning_rate=0.05, augment=False)
_THREE = (
    "resnet20",
    "experiments.networks.mobilenet:mobilenet_v2_x0_5",
    "experiments.networks.shufflenet:shufflenet_v2_x0_5",
)

_PAPER_PROXIES = Ensemble(_THREE, 3, CIFAR_PROXY, "resnet20", CIFAR_ATTACKER)
_CPU_PROXIES = Ensemble(
    ("small_cnn",), 3, _SMALL, "small_cnn", replace(_SMALL, epochs=6, scored_epoch=6)
)
_SMOKE_PROXIES = Ensemble(("fc",), 3, _TINY, "fc", replace(_TINY, scored_epoch=4), canaries=0.2)
_CPU_TARGET = Target(
    "small_cnn", Recipe(epochs=8, batch_size=128, learning_rate=0.1, augment=False)
)

# Targets go without augmentation, of which the paper says nothing: with it, so few steps memorise
# fewer wrong labels than 160 epochs would.
_MID_PROXY = replace(_SMALL, epochs=20, mixed_precision="everywhere")
_MID_PROXIES = Ensemble(
    ("small_cnn",), 3, _MID_PROXY, "small_cnn", replace(_MID_PROXY, epochs=10, scored_epoch=10)
)
_MID_TARGET = Target(
    "small_cnn",
    Recipe(16, 128, 0.1, augment=False, mixed_precision="everywhere"),
)

SCALES = {
    scale.name: scale
    for scale in (
        Scale(
            "smoke",
            "400 digits, fully connected networks, 4 epochs: shows that everything runs, "
            "nothing about the claims",
            (Setup("Digits", Source("digits", 400, 300), _SMOKE_PROXIES, Target("fc", _TINY)),),
            seeds=2,
            headline=2,
            heterogeneous=("fc", "linear", "fc"),
            proxies=4,
        ),
        Scale(
            "cpu",
            "8,000 of the 50,000 training images at 16 × 16 pixels and 5,000 test images; small "
            "CNNs for attacker (6 epochs), proxies (12 epochs, scored at 6) and targets (8 epochs "
            "of steps, without augmentation: few steps then still memorise wrong labels) in "
            "place of the paper's networks (20, 40 and 160 or 200 epochs)",
            (
                Setup("CIFAR-10", Source("cifar10", 8_000, 5_000, 16), _CPU_PROXIES, _CPU_TARGET),
                Setup("CIFAR-100", Source("cifar100", 8_000, 5_000, 16), _CPU_PROXIES, _CPU_TARGET),
            ),
            seeds=3,
            headline=5,
            heterogeneous=_THREE,
            proxies=16,
        ),
        Scale(
            "mid",
            "20,000 of the 50,000 training images of CIFAR-10, all of CIFAR-100, at their 32 × 32 "
            "pixels, and all test images; small CNNs for attacker (10 epochs), proxies (20 epochs "
            "with augmentation, scored at 10) and targets (16 epochs of steps, without "
            "augmentation: few steps then still memorise wrong labels), all trained in "
            "bfloat16 and measured in float32, in place of the paper's networks (20, 40 and 160 or "
            "200 epochs)",
            (
                Setup("CIFAR-10", Source("cifar10", 20_000), _MID_PROXIES, _MID_TARGET),
                Setup("CIFAR-100", Source("cifar100"), _MID_PROXIES, _MID_TARGET),
            ),
            seeds=3,
            headline=5,
            heterogeneous=_THREE,
            proxies=16,
            ours=("gated", RECOMMENDED),
        ),
        Scale(
            "paper",
            "nothing is cut: the appendix's networks, sizes, epochs and seeds",
            (
                Setup(
                    "CIFAR-10",
                    Source("cifar10"),
                    _PAPER_PROXIES,
                    Target("experiments.networks.vgg:vgg19_bn", CIFAR10_TARGET),
                ),
                Setup(
                    "CIFAR-100",
                    Source("cifar100"),
                    _PAPER_PROXIES,
                    Target("experiments.networks.resnet18:resnet18", CIFAR100_TARGET),
                ),
            ),
            seeds=3,
            headline=7,
            heterogeneous=_THREE,
            proxies=32,
        ),
    )
}


def scale_of(name: str, seeds: int | None = None) -> Scale:
    """A scale by name, every cell under another number of seeds if asked.

    >>> scale_of("paper").headline, scale_of("cpu", seeds=1).headline
    (7, 1)
    """
    if name not in SCALES:
        raise InputError(f"scale must be one of {', '.join(SCALES)}, got {name!r}")
    scale = SCALES[name]
    return scale if seeds is None else replace(scale, seeds=seeds, headline=seeds)
