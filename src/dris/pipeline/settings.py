"""What decides the result beside the data: the same for every door."""

from dataclasses import dataclass
from typing import Any

from dris.core.errors import Problems, parameter
from dris.core.noise.canaries import CANARY_KINDS
from dris.core.validate import check_count

NO_ENCODER = "none"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides the result, beside the data.

    Attributes:
        proxies: K.
        epochs: Passes over the data, at most.
        folds: Each stacked proxy is as many models, each of which leaves a fold out; None for none.
        scored_epoch: Where scores look; by itself where the loss on held-out rows is smallest,
            without folds after half of the epochs.
        models: Names of models, or classifiers of scikit-learn, dealt out to the proxies; chosen
            by the data when empty. A recipe can hold names only.
        encoder: Of pictures, by its name or NAME:MODEL, fetched where its weights are not here;
            unless named the first whose are; "none" for small CNNs.
        seed: Of every random stream.
        canaries: Kinds of canaries, the first one for the checks; no certificate without any.
        matrix: Of the kind "matrix": the share of each true class (row) given each label.
        share: Of the labels that become canaries of each kind; up to 0.1 on small data, so that
            a gate can be set.
        at_most: A share of wrong labels that is surely not exceeded; certificates assume it.

    >>> Settings(proxies=5, at_most=0.2).epochs
    20
    """

    proxies: int = 3
    epochs: int = 20
    folds: int | None = 4
    scored_epoch: int | None = None
    models: tuple[Any, ...] = ()
    seed: int = 0
    canaries: tuple[str, ...] = ("uniform",)
    matrix: tuple[tuple[float, ...], ...] | None = None
    share: float = 0.04
    at_most: float = 0.5
    encoder: str | None = None

    def __post_init__(self) -> None:
        problems = Problems("the set of options")
        with problems.collected():
            check_count(self.proxies, parameter("proxies"), at_least=2, at_most=10_000)
        with problems.collected():
            check_count(self.epochs, parameter("epochs"), at_least=1, at_most=100_000)
        if self.folds is not None:
            with problems.collected():
                check_count(self.folds, parameter("folds"), at_least=2)
        problems.refuse()  # what follows compares numbers
        if self.scored_epoch is not None and not 1 <= self.scored_epoch <= self.epochs:
            problems.add(
                f"{parameter('scored_epoch')} must be in 1..{self.epochs}, the epochs, got "
                f"{self.scored_epoch}"
            )
        if not 0 < self.at_most <= 0.5:
            problems.add(f"{parameter('at_most')} must be in (0, 0.5], got {self.at_most}")
        if len(set(self.canaries) & set(CANARY_KINDS)) < len(self.canaries):
            known, got = ", ".join(CANARY_KINDS), ", ".join(map(str, self.canaries))
            problems.add(
                f"{parameter('canaries')} must be different kinds of {known}, got {got or 'none'}"
            )
        if ("matrix" in self.canaries) != (self.matrix is not None):
            problems.add("canaries of kind matrix and a matrix go together; pass both")
        problems.refuse()


DEFAULTS = Settings()
