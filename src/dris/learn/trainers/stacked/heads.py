"""Train K heads on frozen features, all at once: the cheapest proxies for who has embeddings."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics.columns import labels_for
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.streams import check_seed
from dris.core.validate import check_count, check_ids, check_labels
from dris.learn.engines.processes import Progress, devices_of
from dris.learn.proxies import joined, refuse_copies, train_jobs
from dris.learn.recipe import PAPER_FOOD_PROBE, Recipe
from dris.learn.record.array_like import refuse_other_index
from dris.learn.store.run_store import Store
from dris.learn.trainers.inputs import check_ways, checked_inputs
from dris.learn.trainers.job import Data, Job
from dris.learn.trainers.stacked.head import Head


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

    Head k is what `train_proxies(features, labels, model="linear_head")` trains as proxy k; here
    each may have features of its own. The default recipe is the paper's for Food-101, 6 epochs in
    batches of 4,096; a small data set needs smaller batches or more epochs. A head that diverges
    is left out with a warning.

    Args:
        features: (N, F), or a list of such arrays (one per backbone, of any widths), which are
            dealt out to the heads in turn.
        labels: Given labels, integers 0..C-1.
        heads: K; three, or one for each array of a list, unless given.
        hidden: Width of a hidden layer with ReLUs; linear heads unless given.
        recipe: How each head trains; every epoch is recorded.
        seed: Every random stream is derived from it and from its purpose.
        bag: Share of the examples that each head trains on, drawn anew for each head.
        cross_fit: Number of folds, at that many times the cost: `.out_of_fold` then holds values
            from heads that did not train on the example.
        gradient_norm: Also record the exact last-layer gradient norm.
        standardize: Give each feature mean 0 and standard deviation 1.
        classes: Number of classes, when the largest label may be absent.
        ids: Names of the examples, kept through everything; positions unless given.
        test: Held-out (features, labels), a list when `features` is one; each head's accuracy on
            them goes into the provenance.
        device: "cpu", with NumPy, or with torch "cuda" (the first GPU) or "cuda:1".
        store: Folder that keeps results and epochs: killed work goes on from there.
        progress: Called with (epochs done, epochs in all) as they finish.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 5)); y = (x[:, 0] > 0).astype(int)
    >>> train_heads(x, y, heads=2, recipe=Recipe(epochs=4, batch_size=10, learning_rate=0.1))
    Dynamics(2 proxies, 4 epochs, 60 examples; loss, margin, correct, error_norm; scored at epoch 2)
    """
    tables = _checked_tables(features, "features")
    count = len(tables) if _is_list_of_tables(features) else 3
    count = count if heads is None else check_count(heads, "heads", at_least=1)
    n = len(tables[0])
    for table in features if _is_list_of_tables(features) else [features]:
        refuse_other_index(table, labels)
    given = labels_for(check_labels(labels, classes), n)
    names = check_ids(ids, n)
    check_ways(bag, cross_fit, "all", n, stacked=True)
    order = np.argsort(names, kind="stable")
    base = Job(
        model=Head(hidden),
        stream=("proxy",),
        seed=check_seed(seed),
        classes=int(given.max()) + 1 if classes is None else classes,
        recipe=recipe,
        bag=bag,
        folds=cross_fit,
        gradient_norm=gradient_norm,
        normalize=standardize,
        device=devices_of(device)[0],
    )
    jobs, results = [], []
    told = _shares(progress, [len(range(t, count, len(tables))) for t in range(len(tables))])
    for t, data in enumerate(_with_test(tables, given, test, order)):
        # Proxy k, with all its folds, reads table k, and so on around.
        members = tuple(range(t, count, len(tables)))
        if members:
            jobs.append(replace(base, members=members))
            results += train_jobs(jobs[-1:], data, store, progress=told[t])
    dynamics = joined(jobs, results, data)
    refuse_copies(dynamics)
    return replace(dynamics.reordered(np.argsort(order)), ids=names)


def _shares(progress: Progress | None, sizes: Sequence[int]) -> list[Progress | None]:
    """The progress of consecutive parts whose epochs are as many as their sizes."""
    if progress is None:
        return [None] * len(sizes)
    total = sum(sizes)

    def of(part: int) -> Progress:
        before = sum(sizes[:part])

        def told(done: int, of_part: int) -> None:
            each = of_part // sizes[part]
            progress(before * each + done, total * each)

        return told

    return [of(part) for part in range(len(sizes))]


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
    tables: Sequence[NDArray[Any]],
    labels: NDArray[np.int64],
    test: tuple[Any, ArrayLike] | None,
    order: NDArray[np.int64],
) -> list[Data]:
    """The data of each table, examples in `order`."""
    moved = not np.array_equal(order, np.arange(len(order)))
    tables, y = ([x[order] for x in tables], labels[order]) if moved else (tables, labels)
    if test is None:
        return [Data(x, y) for x in tables]
    held_out = _checked_tables(test[0], "test features")
    widths, wanted = [x.shape[1] for x in held_out], [x.shape[1] for x in tables]
    if widths != wanted:
        raise InputError(f"test features must have widths {wanted}, one per table, got {widths}")
    answers = labels_for(test[1], len(held_out[0]))
    return [Data(x, y, t, answers) for x, t in zip(tables, held_out, strict=True)]
