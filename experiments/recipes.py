"""The recipes of the paper's scale by name, and of every field whether the paper states it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from experiments.dris_internals import Recipe

CIFAR_PROXY = Recipe(epochs=40, batch_size=128, learning_rate=0.05, scored_epoch=20)
CIFAR_ATTACKER = Recipe(epochs=20, batch_size=128, learning_rate=0.05, scored_epoch=20)
CIFAR10_TARGET = Recipe(epochs=160, batch_size=128, learning_rate=0.1)
CIFAR100_TARGET = Recipe(epochs=200, batch_size=128, learning_rate=0.1)
RHO_REFERENCE = Recipe(epochs=30, batch_size=128, learning_rate=0.05)
MNIST_PROXY = Recipe(epochs=10, batch_size=128, learning_rate=0.05, augment=False)
FOOD_PROBE = Recipe(
    epochs=6, batch_size=4096, learning_rate=0.01, weight_decay=1e-4, scored_epoch=5, augment=False
)
FOOD_TARGET_NATURAL = Recipe(epochs=50, batch_size=64, learning_rate=0.01, weight_decay=1e-4)
FOOD_TARGET_ATTACKED = Recipe(epochs=25, batch_size=64, learning_rate=0.01, weight_decay=1e-4)

FIELDS = (*(one.name for one in fields(Recipe)), "cosine")
"""What a recipe settles; the schedule is the same for all and is asked of each."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """A recipe, the fields that the paper states and where, and why the others are as they are."""

    recipe: Recipe
    place: str
    stated: tuple[str, ...]
    inferred: Mapping[str, str]


_OPTIMISER = ("epochs", "batch_size", "learning_rate", "momentum", "weight_decay", "cosine")
_AUGMENT = "crops and flips, as is usual on CIFAR; the paper does not mention augmentation"
_LAST = {"scored_epoch": "a target is not scored", "stop_epoch": "it trains to its end"}
_NOT_SAID = ("batch_size", "learning_rate", "momentum", "weight_decay", "cosine", "mixed_precision")
_AS_PROXIES = dict.fromkeys(_NOT_SAID, "as the proxies'") | {"augment": "as the proxies'"}
_TARGET = (*_OPTIMISER, "mixed_precision")
_FOOD_AUGMENT = "crops and flips, as is usual; the paper does not mention augmentation"

ATTRIBUTIONS = {
    "CIFAR_PROXY": Attribution(
        CIFAR_PROXY,
        "app:proxy_details",
        (*_OPTIMISER, "scored_epoch", "stop_epoch", "mixed_precision"),
        {"augment": _AUGMENT},
    ),
    "CIFAR_ATTACKER": Attribution(
        CIFAR_ATTACKER,
        "app:exp_details, targeted noise",
        ("epochs",),
        _AS_PROXIES
        | {
            "scored_epoch": "norms are read after its last epoch",
            "stop_epoch": "at its last epoch",
        },
    ),
    "CIFAR10_TARGET": Attribution(
        CIFAR10_TARGET, "app:target_training", _TARGET, {"augment": _AUGMENT, **_LAST}
    ),
    "CIFAR100_TARGET": Attribution(
        CIFAR100_TARGET, "app:target_training", _TARGET, {"augment": _AUGMENT, **_LAST}
    ),
    "MNIST_PROXY": Attribution(
        MNIST_PROXY,
        "app:exp:proxy_type",
        ("epochs", "learning_rate", "momentum", "weight_decay"),
        {
            "batch_size": "as on CIFAR",
            "cosine": "as on CIFAR",
            "scored_epoch": "half of the epochs, as on CIFAR",
            "stop_epoch": "it trains to its end",
            "augment": "none: digits are not mirrored",
            "mixed_precision": "as on CIFAR, where the device is a GPU",
        },
    ),
    "FOOD_PROBE": Attribution(
        FOOD_PROBE,
        "app:proxy_details",
        (*_OPTIMISER, "scored_epoch"),
        {
            "stop_epoch": "it trains to its end",
            "augment": "none: features are cached once",
            "mixed_precision": "as elsewhere",
        },
    ),
    **{
        name: Attribution(
            recipe, "app:target_training", _TARGET, {"augment": _FOOD_AUGMENT, **_LAST}
        )
        for name, recipe in (
            ("FOOD_TARGET_NATURAL", FOOD_TARGET_NATURAL),
            ("FOOD_TARGET_ATTACKED", FOOD_TARGET_ATTACKED),
        )
    },
    "RHO_REFERENCE": Attribution(
        RHO_REFERENCE,
        "app:baselines",
        ("epochs",),
        _AS_PROXIES
        | {"scored_epoch": "its loss is read after its last epoch", "stop_epoch": "at its last"},
    ),
}
