"""The setups of the experiments that leave the shared grid, by scale."""

from dataclasses import replace

from experiments.dris_internals import Recipe
from experiments.recipes import (
    FOOD_PROBE,
    FOOD_TARGET_ATTACKED,
    FOOD_TARGET_NATURAL,
    MNIST_PROXY,
)
from experiments.scales import SCALES, Setup
from experiments.spec import Ensemble, Source, Target


def _hinge(epochs: int) -> Recipe:
    return Recipe(epochs, 1, 0.01, momentum=0.0, weight_decay=0.1, augment=False)


def _synthetic(examples: int, tests: int, epochs: int) -> Setup:
    how = _hinge(epochs)
    return Setup(
        "Synthetic",
        Source("hyperplane", examples, tests),
        Ensemble(("hinge",), 4, how, "hinge", how),
        Target("hinge", how),
    )


SYNTHETIC = {
    "smoke": _synthetic(100, 200, 2),
    "cpu": _synthetic(2_000, 1_000, 200),
    "mid": _synthetic(2_000, 1_000, 200),
    "paper": _synthetic(2_000, 1_000, 200),
}


def _plain(epochs: int, *, last: bool = False) -> Recipe:
    return Recipe(epochs, 128, 0.05, scored_epoch=epochs if last else None, augment=False)


ONLINE = {
    "smoke": Setup(
        "Digits",
        Source("digits", 200, 100),
        Ensemble(("linear", "fc"), 2, _plain(2), "linear", _plain(1, last=True)),
        Target("linear", _plain(3)),
    ),
    "cpu": Setup(
        "Fashion-MNIST",
        Source("fashion-mnist", 10_000, 5_000),
        Ensemble(("linear", "fc", "small_cnn"), 3, _plain(10), "small_cnn", _plain(5, last=True)),
        Target("fc", _plain(40)),
    ),
    "mid": SCALES["mid"].setups[0],
    "paper": SCALES["paper"].setups[0],
}


def _food(
    source: Source, probes: Ensemble, model: str, natural: Recipe, attacked: Recipe
) -> tuple[Setup, ...]:
    """E1 and E2: the target of E2 trains half as long."""
    return (
        Setup("E1", source, probes, Target(model, natural)),
        Setup("E2", source, probes, Target(model, attacked)),
    )


def _probes(module: str, models: tuple[str, ...], batch_size: int, canaries: float) -> Ensemble:
    """Linear probes by the paper's recipe; the attacker is one too, on the first backbone."""
    named = tuple(f"experiments.networks.{module}:{model}" for model in models)
    how = replace(FOOD_PROBE, batch_size=batch_size)
    return Ensemble(named, 3, how, named[0], replace(how, scored_epoch=6), canaries)


FOOD = {
    "smoke": _food(
        Source("digits", 200, 100),
        _probes("backbones", ("random_narrow", "random_wide"), 16, 0.3),
        "experiments.networks.backbones:random",
        replace(FOOD_TARGET_NATURAL, epochs=2, augment=False),
        replace(FOOD_TARGET_ATTACKED, epochs=1, augment=False),
    ),
    # Batches of 200: as many steps per epoch as the paper's 4,096 make of all 75,750 images.
    "cpu": _food(
        Source("food101", side=128),
        _probes(
            "backbones",
            ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2"),
            200,
            0.1,
        ),
        "experiments.networks.backbones:efficientnet_lite0",
        replace(FOOD_TARGET_NATURAL, epochs=4, augment=False),
        replace(FOOD_TARGET_ATTACKED, epochs=2, augment=False),
    ),
    "paper": _food(
        Source("food101", side=224),
        _probes(
            "torchvision_backbones",
            ("resnet18", "mobilenet_v3_small", "efficientnet_b0"),
            4096,
            0.04,
        ),
        "experiments.networks.torchvision_backbones:resnet50",
        FOOD_TARGET_NATURAL,
        FOOD_TARGET_ATTACKED,
    ),
}
FOOD["mid"] = FOOD["cpu"]  # mid is about the shared grid


_NETWORKS = (
    "linear",
    "fc",
    "experiments.networks.one_hidden:one_hidden_narrow",
    "experiments.networks.one_hidden:one_hidden_wide",
)
_LOSSES = ("sgd_log", "sgd_hinge", "sgd_squared_hinge", "sgd_modified_huber")


def _types(source: Source, count: int, recipe: Recipe) -> dict[str, tuple[Source, Ensemble]]:
    """The paper's four ensembles on one data set, by name; nobody attacks, the noise is uniform."""
    kinds = {
        "FC, many seeds": ("linear",),
        "SGD log loss, many seeds": ("sgd_log",),
        "four networks": _NETWORKS,
        "SGD, four losses": _LOSSES,
    }
    return {
        name: (source, Ensemble(models, count, recipe, "linear", recipe))
        for name, models in kinds.items()
    }


TYPES = {
    "smoke": _types(Source("digits", 300, 100), 4, replace(MNIST_PROXY, epochs=2)),
    "cpu": _types(Source("mnist", 10_000, 5_000), 8, MNIST_PROXY),
    "paper": _types(Source("mnist"), 32, MNIST_PROXY),
}
TYPES["mid"] = TYPES["cpu"]
