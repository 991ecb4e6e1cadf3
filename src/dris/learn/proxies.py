"""Train K proxies and join what each thinks of each example after every epoch."""

import itertools
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.checks import checked_count, checked_ids, checked_labels, count_of
from dris.core.dynamics.arrayfile import made_folder
from dris.core.dynamics.columns import TRAJECTORIES, labels_for, refuse_not_finite
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError
from dris.core.scores.ranks import normalized_ranks
from dris.core.streams import checked_seed
from dris.learn.estimators.staged import ESTIMATORS, is_estimator, resolve
from dris.learn.estimators.standardized import as_table
from dris.learn.proxy_job import Data, DivergedError, Job, train
from dris.learn.recipe import Recipe
from dris.learn.record.array_like import refuse_other_index
from dris.learn.run.engine import LOCAL, Engine, checked_engine
from dris.learn.run.processes import Progress, run_all
from dris.learn.store.model_names import code_of, refuse_unnamed
from dris.learn.store.run_store import Store


def train_proxies(
    x: Any,
    y: ArrayLike,
    *,
    proxies: int = 3,
    epochs: int = 20,
    model: Any = "mlp",
    seed: int = 0,
    scored_epoch: int | None = None,
    batch_size: int | None = None,
    recipe: Recipe | None = None,
    bag: float | None = None,
    cross_fit: int | None = None,
    record: Literal["all", "scored"] = "all",
    gradient_norm: bool = False,
    rival: bool = False,
    standardize: bool = True,
    classes: int | None = None,
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
        model: A name ("mlp", "sgd_log", "boosted_trees"; with torch "resnet20", "small_cnn", ...),
            a scikit-learn classifier, a function (input_shape, classes) -> nn.Module, an import
            path "package.module:function", or a list of those, dealt out to the K proxies.
        seed: Every random stream is derived from it and from its purpose.
        scored_epoch: Where snapshot scores look; half of the epochs unless given.
        batch_size: Examples per step; 64 for scikit-learn, 128 for networks.
        recipe: How networks train, in place of epochs, scored_epoch and batch_size.
        bag: Share of the examples that each proxy trains on, drawn anew for each proxy. For
            models without randomness of their own.
        cross_fit: Number of folds; each example's values then come from models that did not
            train on it, at that many times the cost.
        record: "all" keeps every epoch in eval mode; "scored" only the scored one, with AUM and
            forgetting added up: O(K·N) memory. A network adds them up from its training batches,
            a quarter cheaper; scikit-learn models after every epoch, the same as with "all".
        gradient_norm: Also record the exact last-layer gradient norm.
        rival: Also record the likeliest class besides the label, to suggest labels by.
        standardize: Give each feature (or image channel) mean 0 and standard deviation 1.
        classes: Number of classes, when the largest label may be absent.
        ids: Names of the examples, kept through everything; positions unless given.
        test: Held-out (x, y); each proxy's accuracy on them goes into the provenance.
        workers: Processes to train in, all cores unless given; the result is the same.
        device: "cpu" (one thread per process), "cuda" (one proxy per GPU at a time) or "cuda:1".
        store: Folder that keeps finished proxies and, for networks, every epoch: killed work
            goes on from there.
        progress: Called with (epochs done, epochs in all) as they finish.
        engine: "local", or "ray": each proxy is then a task on a Ray cluster, with the same
            result; `dris.learn.run.engine.Engine` names the cluster, and CPUs and GPUs per proxy.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 5)); y = (x[:, 0] > 0).astype(int)
    >>> train_proxies(x, y, proxies=2, epochs=4, model="sgd_log", workers=1)
    Dynamics(2 proxies, 4 epochs, 60 examples; loss, margin, correct, error_norm; scored at epoch 2)
    """
    proxies = checked_count(proxies, "proxies", at_least=1)
    if workers is not None:
        checked_count(workers, "workers", at_least=1)
    kinds = [checked_model(m) for m in (model if isinstance(model, list | tuple) else [model])]
    if not kinds:
        raise InputError("model is an empty list; name at least one")
    data = checked_inputs(x)
    refuse_other_index(x, y)
    y, words = numbered(y)
    labels = labels_for(checked_labels(y, classes or len(words) or None), len(data))
    names = checked_ids(ids, len(data))
    check_ways(bag, cross_fit, record, len(data))
    how = [recipe or default_recipe(kind, epochs, batch_size, scored_epoch) for kind in kinds]
    where = checked_engine(engine)
    places = where.devices(device)
    base = Job(
        model=None,
        stream=(),
        seed=checked_seed(seed),
        classes=int(classes or len(words) or int(labels.max()) + 1),
        recipe=how[0],
        bag=bag,
        folds=cross_fit,
        record=record,
        gradient_norm=gradient_norm,
        rival=rival,
        normalize=standardize,
    )
    jobs = [
        replace(
            base,
            model=kinds[k % len(kinds)],
            recipe=how[k % len(kinds)],
            stream=("proxy", k),
            fold=fold,
            device=places[k % len(places)],
        )
        for k in range(proxies)
        for fold in range(cross_fit or 1)
    ]
    if test is not None and words:
        test = (test[0], numbered(test[1], words)[0])
    held_out = Data(data, labels, *checked_test(test, data))
    # Nothing holds on to the single proxies once they are joined.
    dynamics = joined(train_jobs(jobs, held_out, store, workers, progress, where), cross_fit or 1)
    refuse_copies(dynamics)
    if words:
        dynamics = replace(dynamics, provenance={**dynamics.provenance, "classes": list(words)})
    return replace(dynamics, ids=names)


def numbered(y: Any, words: tuple[str, ...] = ()) -> tuple[Any, tuple[str, ...]]:
    """Labels that are strings as positions in their sorted values, and these; others as they are.

    >>> numbered(["dog", "cat", "dog"])
    (array([1, 0, 1]), ('cat', 'dog'))
    >>> numbered([1, 0])
    ([1, 0], ())
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


def train_jobs(
    jobs: Sequence[Job],
    data: Data,
    store: Store | str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine = LOCAL,
) -> list[Dynamics | DivergedError]:
    """Every job's dynamics, or what went wrong with it, in the order of the jobs."""
    kept = Store(store) if isinstance(store, str | Path) else store
    if kept is not None:
        made_folder(kept.root)  # here, in one sentence, rather than in every worker
        for job in jobs:
            refuse_unnamed(job.model)
        # Here, not in a worker: what stands in a notebook has its source in this process only.
        jobs = [replace(job, code=code_of(job.model)) for job in jobs]
    total = sum(job.recipe.stop for job in jobs)
    gpus = len({job.device for job in jobs if job.device != "cpu"})
    with tempfile.TemporaryDirectory(prefix="dris-") as folder:
        table = data
        if any(is_estimator(job.model) for job in jobs):
            # Ray has an object store of its own, and its nodes may share no disk.
            where = Path(folder) if engine.name == "local" else None
            table = as_table(data, jobs[0].normalize, where)
        tasks = [(job, table if is_estimator(job.model) else data) for job in jobs]
        if engine.name == "ray":
            from dris.learn.run.ray_jobs import train_on_ray

            how: dict[str, Any] = {"workers": workers, "progress": progress, "total": total}
            return train_on_ray(_attempt, tasks, kept, engine=engine, **how)
        each = [(*task, kept) for task in tasks]
        return run_all(
            _attempt, each, workers=workers or gpus or None, progress=progress, total=total
        )


def _attempt(
    job: Job, data: Data, store: Store | None, tick: Callable[[], None]
) -> Dynamics | DivergedError:
    left = job.recipe.stop

    def counted() -> None:
        nonlocal left
        left -= 1
        tick()

    try:
        return train(job, data, store, counted)
    except DivergedError as error:
        for _ in range(left):  # epochs that will never come: progress still ends at its total
            tick()
        return error


def default_recipe(
    model: Any, epochs: int, batch_size: int | None = None, scored_epoch: int | None = None
) -> Recipe:
    """The paper's proxy recipe over `epochs`; scikit-learn models bring their own step sizes.

    >>> default_recipe("sgd_log", 20).batch_size, default_recipe("resnet20", 20).batch_size
    (64, 128)
    """
    return Recipe(
        epochs=epochs,
        batch_size=batch_size if batch_size is not None else 64 if is_estimator(model) else 128,
        learning_rate=0.05,
        scored_epoch=scored_epoch,
    )


def checked_inputs(x: Any) -> Any:
    """Features or images as an array, or a torch Dataset as it is.

    >>> checked_inputs([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    if any(base.__module__.startswith("torch.utils.data") for base in type(x).__mro__):
        if not hasattr(x, "__len__") or not len(x):
            raise InputError(
                f"x must be a map-style Dataset with examples, {type(x).__name__} has no length "
                "or is empty; read its examples into arrays first"
            )
        return x
    if hasattr(x, "toarray"):
        raise InputError("x is a sparse matrix, which proxies do not take; pass x.toarray()")
    a = np.asarray(x)
    if a.dtype.kind not in "fiub":
        raise InputError(f"x must be numbers, got {a.dtype}; encode text and categories first")
    if a.ndim not in (2, 4) or 0 in a.shape:
        raise InputError(
            "x must be (examples, features) or images (examples, channels, height, width) and not "
            f"empty, got shape {a.shape}"
        )
    if a.ndim == 4 and a.shape[1] == a.shape[2] > 4 >= a.shape[3]:
        raise InputError(
            f"x looks like images with their channels last, {a.shape}; "
            "pass x.transpose(0, 3, 1, 2): (examples, channels, height, width)"
        )
    if a.dtype.kind == "f":
        refuse_not_finite(a.reshape(len(a), -1), "x")
    return a


def checked_model(model: Any) -> Any:
    """A model that can be a proxy: an estimator, or what means a network.

    >>> checked_model("sgd_log").loss
    'log_loss'
    """
    if is_estimator(model):
        return resolve(model)
    from dris.learn.networks.models import MODELS
    from dris.learn.networks.models.registry import checked_spec

    if isinstance(model, str) and ":" not in model and model not in MODELS:
        names = ", ".join([*ESTIMATORS, *MODELS])
        raise InputError(
            f"unknown model {model!r}; choose from {names}, or package.module:function"
        )
    return checked_spec(model)


def checked_test(
    test: tuple[Any, ArrayLike] | None, data: Any
) -> tuple[Any, NDArray[np.int64] | None]:
    """Held-out examples shaped like the data, and their labels; (None, None) for none.

    >>> checked_test(None, np.zeros((2, 3)))
    (None, None)
    """
    if test is None:
        return None, None
    x = checked_inputs(test[0])
    refuse_other_index(*test)
    if isinstance(x, np.ndarray) != isinstance(data, np.ndarray):
        raise InputError("test must be an array where x is one and a Dataset where x is one")
    if isinstance(x, np.ndarray) and x.shape[1:] != data.shape[1:]:
        raise InputError(
            f"test must be shaped like x, {data.shape[1:]} an example, got {x.shape[1:]}"
        )
    return x, labels_for(test[1], len(x))


def check_ways(bag: float | None, cross_fit: int | None, record: str, n: int) -> None:
    """Refuse ways to train that do not exist for `n` examples, or not together."""
    if bag is not None:
        count_of(bag, n, "bag")
    if cross_fit is not None and checked_count(cross_fit, "cross_fit", at_least=2) > n:
        raise InputError(f"cross_fit must be at most N = {n}, got {cross_fit}")
    if bag is not None and cross_fit is not None:
        raise InputError("bag and cross_fit cannot be combined; choose one")
    if record == "scored" and (bag is not None or cross_fit is not None):
        raise InputError(
            'record="scored" reads the training batches, which a bag or a fold '
            'does not fill; use record="all"'
        )


def joined(results: Sequence[Dynamics | DivergedError], folds: int) -> Dynamics:
    """One `Dynamics` of all proxies that finished; the others are named in a warning."""
    parts, missing = [], []
    for k in range(0, len(results), folds):
        mine = results[k : k + folds]
        broken = next((r for r in mine if isinstance(r, DivergedError)), None)
        if broken is not None:
            missing.append(str(broken))
        else:
            parts.append(_joined_folds([r for r in mine if isinstance(r, Dynamics)]))
    if not parts:
        raise InputError(f"no proxy finished; {missing[0]}")
    dynamics = Dynamics.merge(parts)
    if missing:
        told = f"{len(parts)} of {len(parts) + len(missing)} proxies finished; {'; '.join(missing)}"
        warnings.warn(told, stacklevel=3)
        dynamics = replace(dynamics, provenance={**dynamics.provenance, "missing": missing})
    return dynamics


def _joined_folds(folds: Sequence[Dynamics]) -> Dynamics:
    """The folds of one proxy side by side, examples back in their order."""
    if len(folds) == 1:
        return folds[0]
    order = np.argsort(np.concatenate([f.ids for f in folds]))
    first = folds[0]
    columns = {
        name: np.concatenate([f.columns[name] for f in folds], axis=2)[:, :, order]
        for name in first.columns
        if name in TRAJECTORIES
    }
    labels = np.concatenate([f.labels for f in folds if f.labels is not None])[order]
    return replace(first, columns=columns, ids=np.arange(len(order)), labels=labels)


def refuse_copies(dynamics: Dynamics) -> None:
    """Stop when two proxies agree but for rounding: their variance would be that rounding.

    Ranks that differ by less than 1 % on average count as copies where there are enough of them
    (naive Bayes on the digits: 0.7 %). Networks differ by five times that and more; linear models
    that have converged on separable data may not, and to rank variance they are copies too.
    """
    # Margins, not losses: those of two good fits are both zero but for rounding.
    margin = dynamics.snapshot("margin")
    ranks = normalized_ranks(margin)
    many = dynamics.examples >= 200
    for j, k in itertools.combinations(range(len(margin)), 2):
        alike = many and np.abs(ranks[j] - ranks[k]).mean() < 0.01
        if alike or np.allclose(margin[j], margin[k], rtol=1e-3, atol=1e-5):
            made = dynamics.provenance["proxies"][k]["model"]
            raise InputError(
                f"proxies {j} and {k} are copies: {made} ranks the losses alike whatever "
                "its seed and order; bag it (bag=0.8), so that each trains on its own sample"
            )
