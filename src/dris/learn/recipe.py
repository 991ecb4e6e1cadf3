"""How a network is trained: one frozen recipe, and the paper's by name (appendix C)."""

import math
from dataclasses import dataclass
from typing import Literal

from dris.core.errors import InputError
from dris.core.validate import check_count, exact


@dataclass(frozen=True, slots=True)
class Recipe:
    """SGD with momentum and a cosine over all steps, as the paper trains proxies and targets."""

    epochs: int  # E, the cosine's horizon; it stays E when training stops earlier
    batch_size: int  # examples per step; an epoch has ⌈N/B⌉ steps of nearly equal size
    learning_rate: float  # at the first step; the cosine takes it to zero at the last
    momentum: float = 0.9  # of SGD
    weight_decay: float = 5e-4  # on every parameter
    scored_epoch: int | None = None  # where snapshot scores look, after so many passes; E/2 if None
    stop_epoch: int | None = None  # stop after this epoch; E unless given
    augment: bool = True  # crop from a reflected border of 4 pixels and flip (images only)
    # train in bfloat16 where the device is a GPU, or "everywhere", which pays on processors that
    # multiply it; what is measured stays float32
    mixed_precision: bool | Literal["everywhere"] = True

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "stop_epoch", "scored_epoch"):
            value = getattr(self, name)
            if value is not None:
                # Plain numbers, also from NumPy's: a recipe is part of a run's key.
                object.__setattr__(self, name, check_count(value, name, at_least=1))
        for name in ("learning_rate", "momentum", "weight_decay"):
            object.__setattr__(self, name, float(exact(getattr(self, name), name)))
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be positive, got {self.learning_rate}")
        if not 0 <= self.momentum < 1:
            raise InputError(f"momentum must be in [0, 1), got {self.momentum}")
        if not self.weight_decay >= 0:
            raise InputError(f"weight_decay must be zero or more, got {self.weight_decay}")
        if self.mixed_precision not in (True, False, "everywhere"):
            raise InputError(
                f'mixed_precision must be True, False or "everywhere", got {self.mixed_precision!r}'
            )
        if self.stop > self.epochs:
            raise InputError(f"stop_epoch must be in 1..{self.epochs}, got {self.stop_epoch}")
        if self.scored > self.stop:
            raise InputError(f"scored_epoch must be in 1..{self.stop}, got {self.scored_epoch}")

    @property
    def scored(self) -> int:
        """The scored epoch s, (E + 1) // 2 unless given (but not past the last epoch)."""
        middle = min((self.epochs + 1) // 2, self.stop)
        return middle if self.scored_epoch is None else self.scored_epoch

    @property
    def stop(self) -> int:
        """The last epoch that is trained."""
        return self.epochs if self.stop_epoch is None else self.stop_epoch


def cosine(recipe: Recipe, step: int, steps: int) -> float:
    """The learning rate at a step: from the recipe's, along half a cosine, to zero."""
    return 0.5 * recipe.learning_rate * (1 + math.cos(math.pi * step / steps))
