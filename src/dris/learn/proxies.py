"""Train K proxies and record each example's loss, margin and error after every epoch."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.dynamics.columns import labels_for
from dris.core.dynamics.dynamics import Dynamics, best_epoch
from dris.core.errors import InputError
from dris.core.streams import check_seed
from dris.core.validate import check_count, check_ids, check_labels, refuse_other_index
from dris.learn.engines.processes import Progress
from dris.learn.engines.tasks import Engine, as_engine
from dris.learn.jobs.all_jobs import hold_at_best, join_proxies, refuse_copies, train_jobs
from dris.learn.recipe import Recipe
from dris.learn.store.run_store import Store
from dris.learn.trainers.job import Data, Group, Job, check_inputs, check_test, rows_at
from dris.learn.trainers.registry import check_model, trainer_of

MAX_STEPS = 8_000  # of a head; more find more on large tables that are hard, at a price in time
MAX_OUTPUTS = 2_000_000  # steps times classes: many classes take fewer steps
MIN_EPOCHS = 3  # but every row is seen so often


def train_proxies(
    x: Any,
    y: ArrayLike,
    *,
    proxies: int = 3,
    epochs: int = 20,
    model: Any = "mlp",
    seed: int = 0,
    scored_epoch: int | Literal["held_out"] | None = None,
    batch_size: int | None = None,
    recipe: Recipe | None = None,
    cross_fit: int | None = None,
    patience: int | None = None,
    record: Literal["all", "scored", "snapshot"] = "all",
    gradient_norm: bool = False,
    rival: bool = False,
    standardize: bool | Sequence[Group] = True,
    classes: int | None = None,
    judged: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    test: tuple[Any, ArrayLike] | None = None,
    workers: int | None = None,
    device: str = "cpu",
    store: Store | str | Path | None = None,
    progress: Progress | None = None,
    engine: Engine | str = "local",
) -> Dynamics:
    """Train K small classifiers on (x, y) and return their `Dynamics`.

    A proxy that diverges is left out with a warning that names it; the others go on.

    Args:
        x: Features (N, D), images (N, C, H, W), or a map-style torch Dataset.
        y: Given labels, integers 0..C-1, or strings, whose sorted values then stand in the
            provenance as "classes"; in pandas with the index of x.
        proxies: K. Two or more for rank variance.
        epochs: Passes over the data; each is recorded.
        model: A name ("mlp", "linear_head", "untangled_mlp" and "untangled_linear", trained
            stacked; "sgd_log", ...; with torch "resnet20", "small_cnn", ...), a `Head`, a
            scikit-learn classifier, a function (input_shape, classes) -> nn.Module, an import
            path "package.module:function", or a list of those, dealt out to the K proxies.
        seed: Every random stream is derived from it and from its purpose.
        scored_epoch: Where snapshot scores look; half of the epochs unless given. "held_out":
            where the mean loss out of fold is smallest, which needs `cross_fit`; stacked models
            of several kinds are each taken at their own best epoch, which is then repeated.
        batch_size: Examples per step; 64 for stacked models and scikit-learn, 128 for networks.
        recipe: How networks train, in place of epochs, scored_epoch and batch_size.
        cross_fit: Number of folds F, at F times the cost. The columns are the mean over the F - 1
            models that trained on the example, and those of `.out_of_fold` come from the one that
            did not. Equal rows share a fold.
        patience: Stop when the held-out loss was not lowered for so many epochs, with
            scored_epoch="held_out". Stacked proxies stop together, every other model by its own.
        record: "all" keeps every epoch in eval mode; "scored" only the scored one, with AUM and
            forgetting added up in O(K·N) memory, by a network from its training batches;
            "snapshot" the scored epoch alone, of stacked models, which is cheapest.
        gradient_norm: Also record the exact last-layer gradient norm.
        rival: Also record the likeliest class besides the label, to suggest labels by.
        standardize: Give each feature (or image channel) mean 0 and standard deviation 1. Of a
            table, widths of groups of columns, such as (1, 1, 256), give each group one deviation
            and the weight of sixteen columns at most; (6, 1) is a group of six that weighs as one.
        classes: Number of classes, when the largest label may be absent.
        judged: Labels to judge the examples by where they are not those trained on, such as
            canaries' (stacked models with `cross_fit`). Fair out of fold only.
        groups: What each example belongs to, such as its patient: with `cross_fit`, examples of one
            group share a fold.
        ids: Names of the examples; positions unless given. Training goes by their order, so that
            the same rows in another order give the same proxies.
        test: Held-out (x, y); each proxy's accuracy on them goes into the provenance.
        workers: Processes, or for stacked models threads, all cores unless given; the result is
            the same.
        device: Of networks: "cpu" (one thread per process), "cuda" (one proxy per GPU at a time) or
            "cuda:1". Everything else trains on the CPU.
        store: Folder that keeps finished proxies and, but for scikit-learn's, their epochs:
            killed work goes on from there.
        progress: Called with (epochs done, epochs in all) as they finish.
        engine: "local", or "ray": each proxy is then a task on a Ray cluster, with the same
            result; an `Engine` names the cluster, and CPUs and GPUs per proxy.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 5)); y = (x[:, 0] > 0).astype(int)
    >>> train_proxies(x, y, proxies=2, epochs=4, model="sgd_log", workers=1)
    Dynamics(2 proxies, 4 epochs, 60 examples; loss, margin, correct, error_norm; scored at epoch 2)
    """
    check_count(proxies, "proxies", at_least=1)
    if workers is not None:
        check_count(workers, "workers", at_least=1)
    models = [check_model(m) for m in (model if isinstance(model, list | tuple) else [model])]
    if not models:
        raise InputError("model is an empty list; name at least one")
    inputs = check_inputs(x)
    refuse_other_index(x, y)
    y, words = number_labels(y)
    given = classes or len(words) or None
    labels = labels_for(check_labels(y, given), len(inputs))
    names = check_ids(ids, len(labels))
    at = None if isinstance(scored_epoch, str) else scored_epoch
    base = Job(
        model=None,  # and a recipe: below, for each model
        stream=("proxy",),
        seed=check_seed(seed),
        classes=int(given or int(labels.max()) + 1),
        recipe=recipe or default_recipe(models[0], epochs, batch_size, at),
        folds=cross_fit,
        record=record,
        gradient_norm=gradient_norm,
        rival=rival,
        normalize=standardize if isinstance(standardize, bool) else tuple(standardize),
        patience=patience,
        pick=scored_epoch == "held_out",
    )
    stacked = all(trainer_of(m).trains_together for m in models)
    _check(base, len(labels), stacked=stacked, judged=judged is not None)
    asked = None if judged is None else labels_for(check_labels(judged, given), len(labels))
    where = as_engine(engine)
    recipes = [recipe or default_recipe(m, epochs, batch_size, at) for m in models]
    jobs = _jobs(base, models, recipes, proxies, where.devices(device))
    if test is not None and words:
        test = (test[0], number_labels(test[1], words)[0])
    codes = None if groups is None else group_codes(groups, len(labels), cross_fit)
    data = Data(inputs, labels, *check_test(test, inputs), judged=asked, groups=codes)
    order = np.argsort(names, kind="stable")
    moved = not np.array_equal(order, np.arange(len(order)))
    if moved:
        each = {"y": labels, "judged": asked, "groups": codes}
        own: dict[str, Any] = {name: a[order] for name, a in each.items() if a is not None}
        data = replace(data, x=rows_at(inputs, order), **own)
    trained = train_jobs(jobs, data, store, workers, progress, where)
    several = base.pick and len(jobs) > 1
    if several and stacked:
        trained = hold_at_best(trained)
    dynamics = join_proxies(jobs, trained, data)
    del trained  # nothing holds on to the single proxies once they are joined
    taken = stacked and (several or judged is not None)
    if base.pick and record == "all" and not taken:
        dynamics = dynamics.at(best_epoch(dynamics))
    if cross_fit is None:  # out of fold even copies differ: each saw other rows
        refuse_copies(dynamics)
    if moved:
        dynamics = dynamics.reorder(np.argsort(order))
    if words:
        dynamics = replace(dynamics, provenance={**dynamics.provenance, "classes": list(words)})
    return replace(dynamics, ids=names)


def _check(job: Job, n: int, *, stacked: bool, judged: bool) -> None:
    """Raise for ways to train that do not exist for `n` examples, or not together."""
    folds = job.folds
    if folds is not None and check_count(folds, "cross_fit", at_least=2) > n:
        raise InputError(f"cross_fit must be at most N = {n}, got {folds}")
    if job.patience is not None:
        check_count(job.patience, "patience", at_least=1)
    if job.record == "scored" and not stacked and folds is not None:
        raise InputError(
            'record="scored" reads the training batches, which a fold does not fill; '
            'use record="all"'
        )
    if job.record == "snapshot" and not stacked:
        raise InputError('record="snapshot" needs stacked models; use record="scored"')
    if job.pick and folds is None:
        raise InputError('scored_epoch="held_out" reads losses out of fold; pass cross_fit=4')
    if job.patience is not None and not job.pick:
        raise InputError(
            "patience stops proxies by the loss out of fold; use it with cross_fit=4 and "
            'scored_epoch="held_out"'
        )
    if judged and not (stacked and folds is not None):
        raise InputError("judged needs stacked models and folds: cross_fit=4")


def _jobs(
    base: Job, models: list[Any], recipes: list[Recipe], proxies: int, devices: Sequence[str]
) -> list[Job]:
    """One job for the stacked proxies of a model, one for each fold of every other proxy.

    Proxy k has model k, and so on around; those of one model are one job.
    """
    first = [models.index(model) for model in models]
    jobs = []
    for i, model in enumerate(models):
        members = tuple(k for k in range(proxies) if first[k % len(models)] == i)
        own = replace(base, model=model, recipe=recipes[i])
        if members and trainer_of(model).trains_together:
            jobs.append(replace(own, members=members, device=devices[0]))
            continue
        jobs += [
            replace(own, stream=("proxy", k), fold=fold, device=devices[k % len(devices)])
            for k in members
            for fold in range(base.folds or 1)
        ]
    return jobs


def number_labels(y: Any, words: tuple[str, ...] = ()) -> tuple[Any, tuple[str, ...]]:
    """Labels that are strings as positions in their sorted values, and these; others as they are.

    >>> number_labels(["dog", "cat", "dog"])
    (array([1, 0, 1]), ('cat', 'dog'))
    """
    values = np.asarray(y)
    if values.dtype == object and all(isinstance(v, str) for v in values.ravel().tolist()):
        values = values.astype(np.str_)
    if values.dtype.kind not in "UT" or values.ndim != 1:  # text of a fixed and of any width
        return y, ()
    known = words or tuple(np.unique(values).tolist())
    places = {word: place for place, word in enumerate(known)}
    other = next((v for v in values.tolist() if v not in places), None)
    if other is not None:
        raise InputError(f"the label {other!r} is none of the training labels; check the test set")
    return np.array([places[v] for v in values.tolist()], dtype=np.int64), known


def group_codes(groups: ArrayLike, n: int, folds: int | None) -> NDArray[np.int64]:
    """Groups of any values as whole numbers, in the order of the values.

    >>> group_codes(["b", "a", "b"], 3, 2).tolist()
    [1, 0, 1]
    """
    values = np.asarray(groups)
    if values.shape != (n,):
        raise InputError(f"groups must be one value for each of {n} examples, got {values.shape}")
    known, codes = np.unique(values, return_inverse=True)
    if len(known) < (folds or 1):
        raise InputError(
            f"groups has {len(known)} different values, and each of {folds} folds needs one; pass "
            "fewer folds, or leave groups out"
        )
    return np.asarray(codes, dtype=np.int64)


def recipe_within_budget(rows: int, classes: int, epochs: int) -> Recipe:
    """How heads train on so many rows: `epochs` passes, or fewer with larger steps.

    The cosine spans the passes that are trained, so that on large data the last is the best.

    >>> [recipe_within_budget(n, 5, 20).epochs for n in (10_000, 100_000, 1_000_000)]
    [20, 6, 3]
    """
    recipe = default_recipe("mlp", epochs)
    steps = min(MAX_STEPS, MAX_OUTPUTS // classes)
    passes = min(epochs, max(MIN_EPOCHS, -(-steps * recipe.batch_size // rows)))
    rate = recipe.learning_rate * min(2.0, epochs / passes)
    return replace(recipe, epochs=passes, learning_rate=rate)


def default_recipe(
    model: Any, epochs: int, batch_size: int | None = None, scored_epoch: int | None = None
) -> Recipe:
    """The paper's proxy recipe over `epochs`; scikit-learn models bring their own step sizes."""
    return Recipe(
        epochs=epochs,
        batch_size=trainer_of(model).batch_size if batch_size is None else batch_size,
        learning_rate=0.05,
        scored_epoch=scored_epoch,
    )
