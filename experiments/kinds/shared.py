"""What every kind of cell needs: the noisy labels, the ensembles, and what a rule keeps of them."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris import Dynamics, LabelledData, Settings, flip_labels, plant_canaries, train_proxies
from experiments.dris_internals import (
    NO_ENCODER,
    RECOMMENDED,
    Canaries,
    NoisyLabels,
    ProductEnsemble,
    Subset,
    attacker_norms,
    choose,
    decide_by,
    rng_for,
    scratch,
    train_ensemble,
    trainer_of,
    without_canaries,
)
from experiments.rules import ensemble_of, rule_of
from experiments.spec import ALL_WEIGHTS, CLEAN, Cell, Noise, Target
from experiments.targets.target_run import TargetRun
from experiments.workspace import Loaded, Workspace, load_examples

Labels = NDArray[np.int64]


@dataclass(slots=True)
class Finding:
    """What a cell came to, and the seconds it took, which no result depends on."""

    cell: Cell
    result: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)


Findings = Callable[[Sequence[Cell], Workspace], Iterator[Finding]]


@contextmanager
def record_time(seconds: dict[str, float], what: str) -> Iterator[None]:
    """Write down how long something took, on the clock and of this process's CPU.

    Where a GPU computes, both clocks wait for it, and the second is its time: what the host's
    processor did meanwhile says nothing.
    """
    waits = _gpu()
    waits()
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    waits = _gpu()  # it may have begun to compute
    waits()
    took = time.perf_counter() - wall
    seconds[what] = round(took, 2)
    seconds[f"{what} cpu"] = round(took if waits is not _nothing else time.process_time() - cpu, 2)


def train_timed(seconds: dict[str, float], train: Callable[[], TargetRun]) -> TargetRun:
    """A target trained on the clock, unless it goes on from epochs of a run that was killed.

    Then nothing knows how long it took, and no clock is better than a part of it.
    """
    mine: dict[str, float] = {}
    with record_time(mine, "target"):
        run = train()
    if not run.resumed:
        seconds |= mine
    return run


def _gpu() -> Callable[[], object]:
    """What waits for this process's own GPU (`use_gpu_fully`); nothing where none computes."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return _nothing
    wait: Callable[[], object] = torch.cuda.synchronize
    return wait


def _nothing() -> None:
    pass


def model_of(name: str) -> Any:
    """A cell's model as `dris.learn` takes it: one of the bench's own, or the name itself.

    >>> model_of("small_mlp").hidden, model_of("resnet20")
    (64, 'resnet20')
    """
    if not name.startswith("small_mlp"):
        return name
    from experiments.networks.small_mlp import MODELS  # scikit-learn, which no table needs

    return MODELS[name]


def target_of(cell: Cell) -> Target:
    """What a cell trains at its end; a kind that asks for it cannot do without."""
    if cell.target is None:
        raise ValueError(f"a cell of kind {cell.kind} needs a target")
    return cell.target


@contextmanager
def epoch_folder(model: Any, cell: Cell, workspace: Workspace) -> Iterator[Path | None]:
    """Where a cell's target keeps its epochs until its record is written: killed, it goes on.

    One process at a time is there. None for a kind of model that keeps no epochs.
    """
    if not trainer_of(model).keeps_epochs:
        yield None
        return
    with scratch(workspace.epochs_of(cell.key)) as folder:
        yield folder


def corrupt_labels(
    y: Labels,
    noise: Noise,
    *,
    seed: int,
    classes: int,
    norms: Callable[[], NDArray[np.float64]] | None = None,
) -> NoisyLabels:
    """The labels under a noise; one that aims asks for the norms that it hits the largest of.

    >>> corrupt_labels(np.array([0, 1, 0, 1]), Noise("uniform", 0.5), seed=0, classes=2).rate
    0.5
    """
    if noise == CLEAN:
        return NoisyLabels(y, y, {"kind": "none"})
    if norms is None:
        return flip_labels(y, noise.rate, kind=noise.kind, seed=seed, classes=classes)
    return flip_labels(y, noise.rate, kind="targeted", norms=norms(), seed=seed, classes=classes)


def corrupt_cell(
    cell: Cell,
    data: Loaded,
    workspace: Workspace,
    *,
    seen: Callable[[], tuple[Any, Any]] | None = None,
) -> NoisyLabels:
    """A cell's labels under its noise; the attacker is trained once per seed.

    `seen` is the attacker's model and what it looks at, where that is not the cell's own.
    """

    def norms() -> NDArray[np.float64]:
        model, x = (model_of(cell.ensemble.attacker), data.x) if seen is None else seen()
        how: dict[str, Any] = {
            "model": model,
            "recipe": cell.ensemble.attack,
            "seed": cell.seed,
            "device": workspace.device,
            "store": workspace.store,
        }
        if cell.noise.kind == ALL_WEIGHTS:
            from experiments.targets.gradients import attack_all_weights  # needs torch

            return attack_all_weights(x, data.y, **how)
        return attacker_norms(x, data.y, **how)

    if cell.noise.kind in data.given:
        return NoisyLabels(data.given[cell.noise.kind], data.y, {"kind": cell.noise.kind})
    aims = norms if cell.noise.kind in ("targeted", ALL_WEIGHTS) else None
    return corrupt_labels(data.y, cell.noise, seed=cell.seed, classes=data.classes, norms=aims)


@dataclass(frozen=True, slots=True)
class Ensembles:
    """What the proxies said of one noisy data set; each ensemble trains when it is asked for.

    Attributes:
        plain: Proxies on the given labels, for the rules without canaries.
        planted: Proxies on the labels with canaries, for the gated rules.
        unseen: Proxies judging only what they did not train on, for confident learning.
        canaries: Those of `planted`; half of them choose, as in the product.
        product: The proxies of `dris.prune`, which "recommended" decides by and peers may share.
    """

    plain: Callable[[], Dynamics]
    planted: Callable[[], Dynamics]
    unseen: Callable[[], Dynamics]
    canaries: Canaries
    product: Callable[[], ProductEnsemble] | None = None

    def subset(self, rule: str, keep: float, seed: int) -> Subset:
        """What a rule keeps, by the ensemble it runs on; no canary is kept."""
        if self.product is not None and rule == RECOMMENDED:
            return decide_by(self.product(), keep=keep).subset
        ensemble = ensemble_of(rule)
        if self.product is not None and ensemble == "product":
            peer, dynamics = rule_of(rule), self.product().dynamics
            dynamics = (
                dynamics.require_out_of_fold() if ensemble_of(peer.name) == "unseen" else dynamics
            )
            return choose(peer, dynamics, keep=keep, seed=seed)
        dynamics = getattr(self, ensemble)()
        if ensemble != "planted":
            return choose(rule_of(rule), dynamics, keep=keep, seed=seed)
        choosing = np.zeros(dynamics.examples, dtype=np.bool_)
        choosing[self.canaries.choosing] = True
        chosen = choose(rule_of(rule), dynamics, keep=keep, choosing=choosing, seed=seed)
        return without_canaries(chosen, self.canaries)


def ensembles_of(
    cell: Cell,
    given: Labels,
    classes: int,
    train: Callable[[Labels, int, int | None], Dynamics],
    product: Callable[[], ProductEnsemble] | None = None,
) -> Ensembles:
    """The three ensembles of a cell by what trains one: labels, how many, in how many folds."""
    canaries = plant_canaries(
        given,
        share=cell.ensemble.canaries,
        rng=rng_for(cell.seed, "canaries", "uniform"),
        classes=classes,
    )
    count = cell.ensemble.count
    return Ensembles(
        plain=cache(lambda: train(given, count, None)),
        planted=cache(lambda: train(canaries.planted, count, None)),
        unseen=cache(lambda: train(given, 1, 2).require_out_of_fold()),
        canaries=canaries,
        product=None if product is None else cache(product),
    )


def proxies_of(
    cell: Cell,
    data: Loaded,
    labels: Labels,
    workspace: Workspace,
    count: int,
    folds: int | None = None,
) -> Dynamics:
    """The cell's proxies, trained on these labels or taken from the store."""
    return train_proxies(
        data.x,
        labels,
        proxies=count,
        model=[model_of(name) for name in cell.ensemble.models],
        recipe=cell.ensemble.recipe,
        cross_fit=folds,
        # Random draws hash (seed, id); ids that carry the seed redraw them.
        ids=np.arange(len(labels)) + cell.seed * len(labels),
        classes=data.classes,
        seed=cell.seed,
        gradient_norm=True,
        test=(data.test_x, data.test_y),
        workers=1,
        device=workspace.device,
        store=workspace.store,
    )


def prepare_group(
    cells: Sequence[Cell], workspace: Workspace, seconds: dict[str, float]
) -> tuple[Loaded, NoisyLabels, Ensembles]:
    """The data, noisy labels and ensembles that a group of cells shares."""
    first = cells[0]
    data = load_examples(first.source, workspace)
    with record_time(seconds, "attacker"):
        noisy = corrupt_cell(first, data, workspace)

    def train(labels: Labels, count: int, folds: int | None) -> Dynamics:
        return proxies_of(first, data, labels, workspace, count, folds)

    product = partial(product_of, first, data, noisy, workspace)
    return data, noisy, ensembles_of(first, noisy.given, data.classes, train, product)


def product_of(
    cell: Cell, data: Loaded, noisy: NoisyLabels, workspace: Workspace
) -> ProductEnsemble:
    """The proxies of `dris.prune`, which read what the cell's own do.

    Tables, or pictures without another's pretraining.
    """
    pictures = cell.ensemble.models == ("small_cnn",)
    x = data.x if pictures else data.x.reshape(len(data.y), -1)
    own = LabelledData.of(x, noisy.given, classes=tuple(range(data.classes)))
    how = Settings(seed=cell.seed, encoder=NO_ENCODER if pictures else None)
    return train_ensemble(
        own, how, workers=1, device=workspace.device, store=workspace.store, only_assessed=True
    )
