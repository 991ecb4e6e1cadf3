"""Train K heads on frozen features, all at once: the cheapest proxies for who has embeddings."""

import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.checks import checked_count, checked_ids, checked_labels
from dris.core.dynamics.columns import labels_for
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError
from dris.learn.extras import require
from dris.learn.proxies import check_ways, checked_inputs, joined, refuse_copies
from dris.learn.proxy_job import (
    Data,
    DivergedError,
    Job,
    one_thread,
    provenance_of,
    rows_of,
    told_who,
)
from dris.learn.recipe import PAPER_FOOD_PROBE, Recipe
from dris.learn.record.array_like import refuse_other_index
from dris.learn.record.recorder import Recorder
from dris.learn.run.processes import Progress, devices_of, run_all
from dris.learn.store.run_store import Store, fingerprint

_AT_ONCE = 1 << 24  # numbers in the batches of one group of heads: 64 MB
_MEASURED_AT_ONCE = 4096


def train_heads(
    features: Any,
    labels: ArrayLike,
    *,
    heads: int | None = None,
    hidden: int | None = None,
    recipe: Recipe = PAPER_FOOD_PROBE,
    seed: int = 0,
    bag: float | None = None,
    cross_fit: int | None = None,
    gradient_norm: bool = False,
    standardize: bool = True,
    classes: int | None = None,
    ids: ArrayLike | None = None,
    test: tuple[Any, ArrayLike] | None = None,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    progress: Progress | None = None,
) -> Dynamics:
    """Train K linear or one-hidden-layer heads on given features and return their `Dynamics`.

    Head k is what `train_proxies(features, labels, model="linear")` trains as proxy k, but for
    rounding, in about half the time: heads share matrix products, in this process, on one thread.
    The default recipe is the paper's for Food-101, 6 epochs in batches of 4,096; a small data set
    needs smaller batches or more epochs. A head that diverges is left out with a warning.

    Args:
        features: (N, F), or a list of such arrays (one per backbone, of any widths), which are
            dealt out to the heads in turn.
        labels: Given labels, integers 0..C-1.
        heads: K; three, or one for each array of a list, unless given.
        hidden: Width of a hidden layer with ReLUs; linear heads unless given.
        recipe: How each head trains; every epoch is recorded.
        seed: Every random stream is derived from it and from its purpose.
        bag: Share of the examples that each head trains on, drawn anew for each head.
        cross_fit: Number of folds; each example's values then come from heads that did not
            train on it, at that many times the cost.
        gradient_norm: Also record the exact last-layer gradient norm.
        standardize: Give each feature mean 0 and standard deviation 1.
        classes: Number of classes, when the largest label may be absent.
        ids: Names of the examples, kept through everything; positions unless given.
        test: Held-out (features, labels), a list when `features` is one; each head's accuracy on
            them goes into the provenance.
        device: "cpu", "cuda" (the first GPU) or "cuda:1".
        store: Folder that keeps the finished result; a killed training starts over.
        progress: Called with (epochs done, epochs in all) as they finish.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 5)); y = (x[:, 0] > 0).astype(int)
    >>> train_heads(x, y, heads=2, recipe=Recipe(epochs=4, batch_size=10, learning_rate=0.1))
    Dynamics(2 proxies, 4 epochs, 60 examples; loss, margin, correct, error_norm; scored at epoch 2)
    """
    require("torch", "torch")
    tables = _checked_tables(features, "features")
    count = len(tables) if _is_list_of_tables(features) else 3
    count = count if heads is None else checked_count(heads, "heads", at_least=1)
    if hidden is not None:
        checked_count(hidden, "hidden", at_least=1)
    n = len(tables[0])
    for table in features if _is_list_of_tables(features) else [features]:
        refuse_other_index(table, labels)
    given = labels_for(checked_labels(labels, classes), n)
    names = checked_ids(ids, n)
    check_ways(bag, cross_fit, "all", n)
    base = Job(
        model="linear" if hidden is None else f"fc of {hidden}",
        stream=(),
        seed=seed,
        classes=int(given.max()) + 1 if classes is None else classes,
        recipe=recipe,
        bag=bag,
        folds=cross_fit,
        gradient_norm=gradient_norm,
        normalize=standardize,
        device=devices_of(device)[0],
    )
    folds = cross_fit or 1
    jobs = [
        replace(base, stream=("proxy", k), fold=fold) for k in range(count) for fold in range(folds)
    ]
    # Proxy k, with all its folds, reads table k, and so on around.
    places = [
        [i for i in range(len(jobs)) if i // folds % len(tables) == t] for t in range(len(tables))
    ]
    data = _with_test(tables, given, test)
    kept = Store(store) if isinstance(store, str | Path) else store
    run = None if kept is None else kept.run(_key_of(base, count, data))
    total = len(jobs) * recipe.stop
    with nullcontext() if run is None else run.locked():
        if run is not None and run.done:
            if progress is not None:
                progress(total, total)
            return replace(run.load(), ids=names)
        begin = time.monotonic()
        tasks = [([jobs[i] for i in at], d, hidden) for at, d in zip(places, data, strict=True)]
        trained = run_all(_train_on, tasks, workers=1, progress=progress, total=total)
        results = dict(zip(itertools.chain(*places), itertools.chain(*trained), strict=True))
        dynamics = joined([results[i] for i in range(len(jobs))], folds)
        refuse_copies(dynamics)
        if run is not None and "missing" not in dynamics.provenance:
            run.finish(dynamics, seconds=time.monotonic() - begin)
    return replace(dynamics, ids=names)


def _train_on(
    jobs: Sequence[Job], data: Data, hidden: int | None, tick: Callable[[], None]
) -> list[Dynamics | DivergedError]:
    """The dynamics of all heads on one table, or how they diverged, in the order of the jobs."""
    if not jobs:
        return []
    import torch

    from dris.learn.networks.sources import TensorSource

    results: dict[int, Dynamics | DivergedError] = {}
    with one_thread(jobs[0]):
        device = torch.device(jobs[0].device)
        source = TensorSource(data.x, device, normalize=jobs[0].normalize)
        tested = None if data.test_x is None else source.like(data.test_x).tensor
        for group in grouped(jobs, *data.x.shape):
            some = [jobs[i] for i in group]
            trained = _train_group(some, source.tensor, data, tested, hidden, tick)
            results |= dict(zip(group, trained, strict=True))
    return [results[i] for i in range(len(jobs))]


def grouped(jobs: Sequence[Job], n: int, width: int) -> list[list[int]]:
    """Which jobs train together: those with equally many rows (folds may differ by one).

    As many as their batches leave room for. The groups depend on sizes alone, so no bit of the
    result depends on anything else.

    >>> job = Job("linear", ("proxy", 0), 0, 10, PAPER_FOOD_PROBE)
    >>> [len(group) for group in grouped([job] * 20, 50_000, 512)]
    [8, 8, 4]
    """
    alike: dict[int, list[int]] = {}
    for i, job in enumerate(jobs):
        alike.setdefault(len(rows_of(job, n)[0]), []).append(i)
    groups = []
    for rows, members in alike.items():
        size = max(1, _AT_ONCE // (min(rows, jobs[0].recipe.batch_size) * width))
        groups += [members[a : a + size] for a in range(0, len(members), size)]
    return groups


def _train_group(
    jobs: Sequence[Job],
    table: Any,
    data: Data,
    tested: Any,
    hidden: int | None,
    tick: Callable[[], None],
) -> list[Dynamics | DivergedError]:
    from dris.learn.stacked.torch_stack import StackedHeads

    first, y = jobs[0], data.y
    rows, measured = zip(*(rows_of(job, len(y)) for job in jobs), strict=True)
    recorders = [
        Recorder(at, labels=y[at], scored_epoch=job.recipe.scored, gradient_norm=job.gradient_norm)
        for job, at in zip(jobs, measured, strict=True)
    ]
    streams = [j.stream if j.folds is None else (*j.stream, "fold", j.fold) for j in jobs]
    engine = StackedHeads(
        table,
        y,
        first.classes,
        first.recipe,
        hidden=hidden,
        seed=first.seed,
        streams=streams,
        rows=rows,
    )
    # Heads that measure the same rows answer together.
    sets = [[k] for k in range(len(jobs))] if first.folds else [list(range(len(jobs)))]
    errors: dict[int, DivergedError] = {}
    for epoch in range(1, first.recipe.stop + 1):
        for k, why in engine.train_epoch(epoch).items():
            told = DivergedError(f"{jobs[k].who} diverged in epoch {epoch}: {why}")
            errors.setdefault(k, told)
        for together in sets:
            alive = [k for k in together if k not in errors]
            if alive:
                errors |= _record(engine, jobs, recorders, alive, measured[alive[0]], y, epoch)
        for _ in jobs:
            tick()
    accuracies: list[float | None] = [None] * len(jobs)
    if data.test_y is not None:
        accuracies[:] = engine.accuracies(tested, data.test_y)
    return [
        errors[k]
        if k in errors
        else replace(recorders[k].dynamics(), provenance=provenance_of(job, accuracies[k]))
        for k, job in enumerate(jobs)
    ]


def _record(
    engine: Any,
    jobs: Sequence[Job],
    recorders: Sequence[Recorder],
    heads: Sequence[int],
    measured: NDArray[np.int64],
    y: NDArray[np.int64],
    epoch: int,
) -> dict[int, DivergedError]:
    """Ask the heads about the same examples, tell each one's recorder; who is not finite."""
    errors: dict[int, DivergedError] = {}
    for at in np.array_split(measured, -(-len(measured) // _MEASURED_AT_ONCE)):
        logits, last = engine.measure(at, heads)
        for i, k in enumerate(heads):
            if k in errors:
                continue
            read = last[i % len(last)] if jobs[k].gradient_norm else None
            try:
                with told_who(jobs[k], epoch):
                    recorders[k].update(at, logits[i], y[at], read)
            except DivergedError as error:
                errors[k] = error
    for k in heads:
        if k not in errors:
            recorders[k].end_epoch()
    return errors


def _checked_tables(features: Any, name: str) -> list[NDArray[Any]]:
    """One table or a list of them, all of the same number of examples."""
    tables = [checked_inputs(x) for x in (features if _is_list_of_tables(features) else [features])]
    for x in tables:
        if not isinstance(x, np.ndarray) or x.ndim != 2:
            raise InputError(
                f"{name} must be (examples, features), got shape {getattr(x, 'shape', None)}; "
                "extract_features makes them from images"
            )
        if len(x) != len(tables[0]):
            raise InputError(
                f"{name} must be of the same examples, got {len(tables[0])} and {len(x)} rows"
            )
    return tables


def _is_list_of_tables(features: Any) -> bool:
    return isinstance(features, list | tuple) and len(features) > 0 and np.ndim(features[0]) == 2


def _with_test(
    tables: Sequence[NDArray[Any]], labels: NDArray[np.int64], test: tuple[Any, ArrayLike] | None
) -> list[Data]:
    if test is None:
        return [Data(x, labels) for x in tables]
    held_out = _checked_tables(test[0], "test features")
    widths, wanted = [x.shape[1] for x in held_out], [x.shape[1] for x in tables]
    if widths != wanted:
        raise InputError(f"test features must have widths {wanted}, one per table, got {widths}")
    answers = labels_for(test[1], len(held_out[0]))
    return [Data(x, labels, t, answers) for x, t in zip(tables, held_out, strict=True)]


def _key_of(base: Job, count: int, data: Sequence[Data]) -> dict[str, Any]:
    """Everything that determines the result's bytes, as plain values."""
    return {
        **asdict(base),
        "stream": ["proxy"],
        "heads": count,
        "data": [fingerprint(d.x) for d in data],
        "labels": fingerprint(data[0].y),
        "test": [fingerprint(d.test_x, d.test_y) for d in data if d.test_y is not None],
    }
