"""A torch `Sampler` that draws by importance, and a data set that hands out the weights with it.

Take the mean of w·loss; dividing by the sum of w would bring back the bias. Needs the extra
`torch`.
"""
# ruff: noqa: E402  # The sentence about a missing torch must come before the first import of it.

from dris.learn.extras import require

require("torch", "torch")

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from dris.core.errors import InputError
from dris.core.select.importance import Importance, draw, proportional
from dris.core.streams import check_seed, rng_for
from dris.core.validate import check_count
from dris.learn.record.batches import as_array

FORMAT = 1
_PART = 1 << 16


class ImportanceSampler(Sampler[int]):
    """Yields indices drawn by a plan's probabilities, for the `sampler` of a DataLoader.

    The draws of an epoch follow from seed and epoch alone. Each iteration is a new epoch, also
    without `set_epoch`.

    Args:
        plan: What `dris.importance` returns; or leave it out and pass weights.
        weights: How often to draw each example, relative to the others, 0 or more.
        seed: Names the draws, together with the epoch.
        num_samples: Draws per epoch over all ranks; N when not given.
        rank: Which process of distributed training this is.
        world_size: How many there are. Rank r takes every world_size-th draw from the r-th on;
            a few draws more than num_samples make all of them equally long.

    Attributes:
        weights: Of each example's draw, a float32 tensor: 1/(Nq) to the power of the plan's
            exponent; 0 for what is never drawn.

    >>> import dris
    >>> sampler = ImportanceSampler(dris.importance([0, 1, 2], smoothing=1.0), seed=0)
    >>> sampler.weights
    tensor([2.0000, 1.0000, 0.6667])
    >>> len(list(sampler)), sampler.epoch
    (3, 1)
    """

    def __init__(
        self,
        plan: Importance | None = None,
        *,
        weights: ArrayLike | Tensor | None = None,
        seed: int = 0,
        num_samples: int | None = None,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        Sampler.__init__(self)  # and no other base of a subclass, which would ask for a data set
        if (plan is None) == (weights is None):
            raise InputError("pass either a plan, what dris.importance returns, or weights=")
        if weights is not None:
            plan = proportional(as_array(weights))
        if not isinstance(plan, Importance):
            raise InputError(
                f"plan must be an Importance, got {type(plan).__name__}; "
                "make one with dris.importance(score)"
            )
        self.plan = plan
        self.seed = check_seed(seed)
        self.num_samples = plan.probabilities.size
        if num_samples is not None:
            self.num_samples = check_count(num_samples, "num_samples", at_least=1)
        self._world_size = check_count(world_size, "world_size", at_least=1)
        self._rank = check_count(rank, "rank", at_least=0)
        if self._rank >= self._world_size:
            raise InputError(f"rank must be below world_size = {world_size}, got {rank}")
        weight = plan.weights
        if weight.max() > np.finfo(np.float32).max:
            raise InputError(
                f"a weight of {weight.max():.3g} is past the largest float32; "
                "use importance(score, smoothing=0.1)"
            )
        self.weights = torch.from_numpy(weight.astype(np.float32))
        self._epoch, self._position, self._begun = 0, 0, False

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def world_size(self) -> int:
        return self._world_size

    def __len__(self) -> int:
        return -(-self.num_samples // self.world_size)

    def __iter__(self) -> Iterator[int]:
        # A generator runs from the first next() on: an iterator that is made and dropped, as
        # DataLoader does, uses up no epoch.
        if self._begun:
            self._epoch, self._position = self._epoch + 1, 0
        self._begun = True
        epoch, position = self._epoch, self._position
        indices = self.draws(epoch)[position:]
        for start in range(0, indices.size, _PART):
            for index in indices[start : start + _PART].tolist():
                position += 1
                if self._epoch == epoch:  # else another iteration has begun meanwhile
                    self._position = position
                yield index

    def draws(self, epoch: int) -> NDArray[np.int64]:
        """All indices of this rank in one epoch, for loops without a DataLoader."""
        rng = rng_for(self.seed, "importance", check_count(epoch, "epoch", at_least=0))
        padding = len(self) * self.world_size - self.num_samples
        q = self.plan.probabilities
        drawn = draw(q, self.num_samples, rng=rng)
        if padding:
            # From a stream of their own, so that the first draws know nothing of the ranks.
            more = rng_for(self.seed, "importance", epoch, "padding")
            drawn = np.concatenate([drawn, draw(q, padding, rng=more)])
        return drawn if self.world_size == 1 else drawn[self.rank :: self.world_size].copy()

    @property
    def epoch(self) -> int:
        """The epoch that is being drawn, or, when all of it has been, the one that comes next."""
        return self._epoch + (self._position == len(self))

    def set_epoch(self, epoch: int) -> None:
        """Let the next iteration draw this epoch; one just loaded goes on where it was left."""
        epoch = check_count(epoch, "epoch", at_least=0)
        if self._begun or epoch != self._epoch:
            self._epoch, self._position, self._begun = epoch, 0, False

    def state_dict(self, *, position: int | None = None) -> dict[str, Any]:
        """Where the sampler stands, as JSON values; any rank's serves all of them.

        The workers of a DataLoader fetch ahead: with workers pass as `position` how many indices
        of the epoch training has used on each rank, `batches * batch_size`.
        """
        position = self._check_position(self._position if position is None else position)
        over = position == len(self)
        where = {"epoch": self._epoch + over, "position": 0 if over else position}
        return {**self._identity, **where}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken; a state of another sampler is an error."""
        for name, mine in self._identity.items():
            if name not in state or state[name] != mine:
                raise InputError(
                    f"this state is of a sampler with another {name}; "
                    "make the sampler with the arguments it had then"
                )
        if not {"epoch", "position"} <= state.keys():
            raise InputError("this sampler state is not whole, it needs epoch and position")
        epoch = check_count(state["epoch"], "epoch", at_least=0)
        self._position = self._check_position(state["position"])
        self._epoch, self._begun = epoch, False

    def _check_position(self, position: Any) -> int:
        count = check_count(position, "position", at_least=0)
        if count > len(self):
            raise InputError(f"position must be at most {len(self)}, got {count}")
        return count

    @property
    def _identity(self) -> dict[str, Any]:
        """What must be the same for a state to mean the same draws and the same weights."""
        q = np.ascontiguousarray(self.plan.probabilities)
        digest = hashlib.blake2b(q.data, digest_size=16).hexdigest()
        return {
            "format": FORMAT,
            "plan": f"{digest} exponent {self.plan.exponent}",
            "seed": self.seed,
            "num_samples": self.num_samples,
            "world_size": self.world_size,
        }


class WeightedDataset(Dataset[tuple[Any, ...]]):
    """A map-style data set of (x, y) as one of (x, y, w), w the weight of the sampler's draw."""

    def __init__(self, dataset: Any, sampler: ImportanceSampler) -> None:
        if not isinstance(sampler, ImportanceSampler):
            raise InputError(f"sampler must be an ImportanceSampler, got {type(sampler).__name__}")
        if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
            raise InputError(
                "dataset must be map-style, with a length and items by index, "
                f"got {type(dataset).__name__}"
            )
        if len(dataset) != len(sampler.weights):
            raise InputError(
                f"the data set has {len(dataset)} examples and the plan {len(sampler.weights)}; "
                "score the examples that are drawn from"
            )
        self.dataset = dataset
        self.weights = sampler.weights

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        item = self.dataset[index]
        if not isinstance(item, tuple | list):
            raise InputError(
                f"the items of the data set must be (x, y), got {type(item).__name__}; "
                "read sampler.weights[index] instead"
            )
        return (*item, self.weights[index])
