"""Everything that decides the result, beside the data: the same for every door."""

from dataclasses import dataclass
from typing import Any

from dris.core.errors import InputError
from dris.core.noise.assessment import SUSPECT_ODDS
from dris.core.noise.canaries import CANARY_KINDS
from dris.core.validate import check_count

NO_ENCODER = "none"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides the result, beside the data.

    Attributes:
        proxies: K.
        epochs: Passes over the data, at most.
        folds: Each proxy of the stacked kind is as many models, each of which leaves a fold out,
            so that every example is also judged by models that never saw it; None for none.
        scored_epoch: Where scores look; by itself where the loss on held-out rows is smallest,
            and training stops soon after; without folds after half of the epochs.
        models: Names of models, or classifiers of scikit-learn, dealt out to the proxies; chosen
            by the data when empty. A recipe can hold names only.
        encoder: Of pictures, by its name or NAME:MODEL, fetched where its weights are not on this
            machine; unless named the first that is whole here, if any; "none" for small CNNs.
        suspect_odds: With more than two classes, how many times likelier than the given label
            another class must be out of fold before the label is a suspect, each beside what is
            usual for it; larger drops less. With two classes as many of a label are suspects as
            are wrong of it by estimate.
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
    suspect_odds: float = SUSPECT_ODDS

    def __post_init__(self) -> None:
        check_count(self.proxies, "proxies", at_least=2, at_most=10_000)
        check_count(self.epochs, "epochs", at_least=1, at_most=100_000)
        if self.folds is not None:
            check_count(self.folds, "folds", at_least=2)
        if self.scored_epoch is not None and not 1 <= self.scored_epoch <= self.epochs:
            raise InputError(
                f"scored_epoch must be in 1..{self.epochs}, the epochs, got {self.scored_epoch}"
            )
        if not self.suspect_odds >= 1:
            raise InputError(f"suspect_odds must be 1 or more, got {self.suspect_odds}")
        if not 0 < self.at_most <= 0.5:
            raise InputError(f"at_most must be in (0, 0.5], got {self.at_most}")
        if len(set(self.canaries) & set(CANARY_KINDS)) < len(self.canaries):
            known = ", ".join(CANARY_KINDS)
            raise InputError(f"canaries must be different kinds of {known}, got {self.canaries}")
        if ("matrix" in self.canaries) != (self.matrix is not None):
            raise InputError("canaries of kind matrix and a matrix go together; pass both")


DEFAULTS = Settings()
