"""What every kind of cell needs: where things lie, the noisy labels, and the ensembles."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.bench.cell_data import Loaded, loaded
from dris.bench.rules import Judged
from dris.bench.spec import Cell
from dris.core.dynamics.history import Dynamics
from dris.core.noise.flips import NoisyLabels, flip_labels
from dris.core.streams import seed_for
from dris.learn.attack import attacker_norms
from dris.learn.proxies import train_proxies


@dataclass(frozen=True, slots=True)
class Place:
    """Where data sets and training runs lie, and what trains."""

    store: Path
    data_dir: Path | None = None
    device: str = "cpu"

    def absolute(self) -> "Place":
        """The same place, wherever one stands."""
        data_dir = None if self.data_dir is None else self.data_dir.absolute()
        return replace(self, store=self.store.absolute(), data_dir=data_dir)


@dataclass(slots=True)
class Finding:
    """What a cell came to, and the seconds it took, which no result depends on."""

    cell: Cell
    found: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)


Findings = Callable[[Sequence[Cell], Place], Iterator[Finding]]


@contextmanager
def timed(seconds: dict[str, float], what: str) -> Iterator[None]:
    """Write down how long something took, on the clock and of this process's CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    seconds[what] = round(time.perf_counter() - wall, 2)
    seconds[f"{what} cpu"] = round(time.process_time() - cpu, 2)


def corrupted(cell: Cell, data: Loaded, place: Place) -> NoisyLabels:
    """The labels under the cell's noise; the attacker is trained once per seed."""
    noise, ensemble = cell.noise, cell.ensemble
    if noise.kind == "clean":
        return NoisyLabels(data.y, data.y, {"kind": "none"})
    if noise.kind != "targeted":
        return flip_labels(
            data.y, noise.rate, kind=noise.kind, seed=cell.seed, classes=data.classes
        )
    norms = attacker_norms(
        data.x,
        data.y,
        model=ensemble.attacker,
        recipe=ensemble.attack,
        seed=cell.seed,
        device=place.device,
        store=place.store,
    )
    return flip_labels(
        data.y, noise.rate, kind="targeted", norms=norms, seed=cell.seed, classes=data.classes
    )


def judged(cell: Cell, data: Loaded, noisy: NoisyLabels, place: Place) -> Judged:
    """The ensembles that the rules of a group look at."""
    planted = flip_labels(
        noisy.given,
        cell.ensemble.canaries,
        seed=seed_for(cell.seed, "canaries"),
        classes=data.classes,
    )
    count = cell.ensemble.count
    return Judged(
        plain=cache(lambda: proxies_of(cell, data, noisy.given, place, proxies=count)),
        planted=cache(lambda: proxies_of(cell, data, planted.given, place, proxies=count)),
        unseen=cache(lambda: proxies_of(cell, data, noisy.given, place, proxies=1, cross_fit=2)),
        canaries=planted.flipped,
    )


def proxies_of(
    cell: Cell, data: Loaded, labels: NDArray[np.int64], place: Place, **how: Any
) -> Dynamics:
    """The cell's proxies, trained on these labels or taken from the store."""
    return train_proxies(
        data.x,
        labels,
        model=list(cell.ensemble.models),
        recipe=cell.ensemble.recipe,
        # Random draws hash (seed, id); ids that carry the seed redraw them.
        ids=np.arange(len(labels)) + cell.seed * len(labels),
        classes=data.classes,
        seed=cell.seed,
        gradient_norm=True,
        test=(data.test_x, data.test_y),
        workers=1,
        device=place.device,
        store=place.store,
        **how,
    )


def prepared(
    cells: Sequence[Cell], place: Place, seconds: dict[str, float]
) -> tuple[Loaded, NoisyLabels, Judged]:
    """The data, noisy labels and ensembles that a group of cells shares."""
    data = loaded(cells[0].source, place.data_dir)
    with timed(seconds, "attacker"):
        noisy = corrupted(cells[0], data, place)
    return data, noisy, judged(cells[0], data, noisy, place)
