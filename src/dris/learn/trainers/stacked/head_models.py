"""The models that are trained stacked: linear, or with one hidden layer; by name or width."""

from dataclasses import dataclass
from typing import Any

from dris.core.validate import check_count


@dataclass(frozen=True, slots=True, repr=False)
class Head:
    """A softmax classifier on a table of features, with one hidden layer of ReLUs or none.

    Untangled, it reads columns that have been made nearly uncorrelated: where many say the same, a
    few steps on small data do not get to what tells them apart. Sparse features, more than 600
    columns and those that are not standardised stay as they are.

    >>> Head(hidden=128), Head(untangled=True)
    (Head(hidden=128), Head(hidden=None, untangled=True))
    """

    hidden: int | None = None
    untangled: bool = False

    def __repr__(self) -> str:
        apart = ", untangled=True" if self.untangled else ""  # names are parts of runs' keys
        return f"Head(hidden={self.hidden}{apart})"

    def __post_init__(self) -> None:
        if self.hidden is not None:
            # A plain number, also from NumPy's: it is part of a run's key.
            object.__setattr__(self, "hidden", check_count(self.hidden, "hidden", at_least=1))


HEADS: dict[str, Head] = {
    "mlp": Head(hidden=64),
    "linear_head": Head(),
    "untangled_mlp": Head(hidden=64, untangled=True),
    "untangled_linear": Head(untangled=True),
}


def is_head(model: Any) -> bool:
    """Whether a model is trained stacked.

    >>> is_head("mlp"), is_head(Head(8)), is_head("resnet20")
    (True, True, False)
    """
    return model in HEADS if isinstance(model, str) else isinstance(model, Head)


def head_of(model: Any) -> Head:
    """The head that a name means, or the head itself.

    >>> head_of("mlp").hidden
    64
    """
    head: Head = HEADS[model] if isinstance(model, str) else model
    return head
