"""Train K proxies and record what each thinks of each example after every epoch."""

import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.checks import checked_count, checked_ids, checked_labels, count_of
from dris.core.columns import labels_for, refuse_not_finite
from dris.core.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.ranks import normalized_ranks
from dris.core.streams import checked_seed, rng_for, seed_for
from dris.core.trajectories import trajectories_of
from dris.learn.estimators import epochs_of, names_of, resolve

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that determines the training of one proxy, besides data and estimator."""

    stream: tuple[str | int, ...]
    seed: int
    epochs: int
    batch_size: int
    classes: int
    bag: float | None
    cross_fit: int | None
    gradient_norm: bool


def train_proxies(
    x: ArrayLike,
    y: ArrayLike,
    *,
    proxies: int = 3,
    epochs: int = 20,
    model: Any = "mlp",
    seed: int = 0,
    scored_epoch: int | None = None,
    batch_size: int = 64,
    bag: float | None = None,
    cross_fit: int | None = None,
    gradient_norm: bool = False,
    standardize: bool = True,
    classes: int | None = None,
    ids: ArrayLike | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Dynamics:
    """Train K small classifiers on (x, y) and return their `Dynamics`.

    Args:
        x: Features (N, D), finite numbers.
        y: Given labels, integers 0..C-1.
        proxies: K. Two or more for rank variance.
        epochs: Passes over the data; each is recorded.
        model: A name ("mlp", "sgd_log", "boosted_trees", ...), a scikit-learn classifier, or a
            list of those, dealt out to the K proxies in turn.
        seed: Every random stream is derived from it and from its purpose.
        scored_epoch: Where snapshot scores look; half of the epochs unless given.
        batch_size: Examples per call of partial_fit.
        bag: Share of the examples that each proxy trains on, drawn anew for each proxy. For
            models without randomness of their own.
        cross_fit: Number of folds; each example's values then come from models that did not
            train on it, at that many times the cost.
        gradient_norm: Also record the exact last-layer gradient norm.
        standardize: Give each feature mean 0 and standard deviation 1.
        classes: Number of classes, when the largest label may be absent.
        ids: Names of the examples, kept through everything; positions unless given.
        workers: Processes to train in, all cores unless given; the result is the same.
        progress: Called with (proxies done, K) as they finish.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 5)); y = (x[:, 0] > 0).astype(int)
    >>> train_proxies(x, y, proxies=2, epochs=4, model="sgd_log", workers=1)
    Dynamics(2 proxies, 4 epochs, 60 examples; loss, margin, correct, error_norm; scored at epoch 2)
    """
    features = checked_features(x)
    labels = labels_for(checked_labels(y, classes), len(features))
    count = int(labels.max()) + 1 if classes is None else classes
    names = checked_ids(ids, len(features))
    proxies = checked_count(proxies, "proxies", at_least=1)
    epochs = checked_count(epochs, "epochs", at_least=1)
    batch_size = checked_count(batch_size, "batch_size", at_least=1)
    seed = checked_seed(seed)
    if workers is not None:
        checked_count(workers, "workers", at_least=1)
    if scored_epoch is not None and scored_epoch not in range(1, epochs + 1):
        raise InputError(f"scored_epoch must be in 1..{epochs}, got {scored_epoch}")
    if bag is not None:
        count_of(bag, len(features), "bag")
    if cross_fit is not None:
        cross_fit = checked_count(cross_fit, "cross_fit", at_least=2)
        if cross_fit > len(features):
            raise InputError(f"cross_fit must be at most N = {len(features)}, got {cross_fit}")
    if bag is not None and cross_fit is not None:
        raise InputError("bag and cross_fit cannot be combined; choose one")
    kinds = [resolve(m) for m in (model if isinstance(model, list | tuple) else [model])]
    if not kinds:
        raise InputError("model is an empty list; name at least one")
    features = standardized(features) if standardize else as_single(features)
    plans = [
        Plan(("proxy", k), seed, epochs, batch_size, count, bag, cross_fit, gradient_norm)
        for k in range(proxies)
    ]
    jobs = [(kinds[k % len(kinds)], plan) for k, plan in enumerate(plans)]
    parts = _in_parallel(jobs, features, labels, names, workers, progress)
    dynamics = Dynamics.merge(parts)
    _refuse_copies(dynamics)
    return dynamics if scored_epoch is None else dynamics.at(scored_epoch)


def train_one(
    estimator: Any,
    plan: Plan,
    x: NDArray[np.float32],
    y: NDArray[np.int64],
    ids: NDArray[Any],
) -> Dynamics:
    """The `Dynamics` of a single proxy, in one thread so that no bit depends on the machine."""
    from sklearn.base import clone
    from threadpoolctl import threadpool_limits

    n = len(x)
    recorded: dict[str, list[NDArray[Any]]] = {}
    with threadpool_limits(limits=1):
        for fold, (rows, measure) in enumerate(_parts(plan, n)):
            fresh = clone(estimator)
            if "random_state" in fresh.get_params():
                fresh.set_params(random_state=seed_for(plan.seed, *plan.stream, "model", fold))
            outputs = epochs_of(
                fresh,
                x,
                y,
                rows=rows,
                measure=measure,
                classes=plan.classes,
                epochs=plan.epochs,
                batch_size=plan.batch_size,
                rng=rng_for(plan.seed, *plan.stream, "order", fold),
                penultimate=plan.gradient_norm,
            )
            for e, (logits, hidden) in enumerate(_stopped_when_broken(outputs, plan)):
                for name, values in _record(logits, hidden, y[measure]).items():
                    column = recorded.setdefault(name, [])
                    if len(column) == e:
                        column.append(np.empty(n, dtype=values.dtype))
                    column[e][measure] = values
    made = {"stream": list(plan.stream), "model": names_of([estimator])[0], "seed": plan.seed}
    for name in ("epochs", "batch_size", "bag", "cross_fit"):
        made[name] = getattr(plan, name)
    columns: dict[str, Any] = {n: np.stack(rows)[np.newaxis] for n, rows in recorded.items()}
    return Dynamics.from_arrays(
        **columns,
        labels=y,
        ids=ids,
        provenance={"proxies": [made]},
    )


def checked_features(x: ArrayLike) -> NDArray[Any]:
    """Features as a finite two-dimensional array of numbers.

    >>> checked_features([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    a = np.asarray(x)
    if a.dtype.kind not in "fiub":
        raise InputError(f"x must be numbers, got {a.dtype}; encode text and categories first")
    if a.ndim != 2 or 0 in a.shape:
        raise InputError(f"x must be (examples, features) and not empty, got shape {a.shape}")
    if a.dtype.kind == "f":
        refuse_not_finite(a, "x")
    return a


def standardized(x: NDArray[Any]) -> NDArray[np.float32]:
    """Each feature with mean 0 and standard deviation 1; constant features become 0.

    >>> standardized(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, spread = x.mean(axis=0, dtype=np.float64), x.std(axis=0, dtype=np.float64)
    if not np.isfinite(spread).all():
        raise InputError(f"x is too large to standardize, up to {np.abs(x).max():g}; rescale it")
    return as_single((x - mean) / np.where(spread > 0, spread, 1))


def as_single(x: NDArray[Any]) -> NDArray[np.float32]:
    """Features in single precision, in which proxies train; refused when they do not fit.

    >>> as_single(np.array([[1, 2]])).dtype
    dtype('float32')
    """
    if np.abs(x).max() > np.finfo(np.float32).max:
        raise InputError(f"x does not fit single precision, up to {np.abs(x).max():g}; rescale it")
    return x.astype(np.float32, copy=False)


def _in_parallel(
    jobs: Sequence[tuple[Any, Plan]],
    x: NDArray[Any],
    y: NDArray[np.int64],
    ids: NDArray[Any],
    workers: int | None,
    progress: Progress | None,
) -> list[Dynamics]:
    from joblib import Parallel, delayed

    processes = min(len(jobs), workers or os.cpu_count() or 1)
    tasks = (delayed(train_one)(estimator, plan, x, y, ids) for estimator, plan in jobs)
    parts = []
    for part in Parallel(n_jobs=processes, return_as="generator")(tasks):
        parts.append(part)
        if progress:
            progress(len(parts), len(jobs))
    return parts


def _parts(plan: Plan, n: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp] | slice]]:
    """(rows to train on, rows to measure): one pair, or one per fold."""
    everyone = np.arange(n)
    if plan.bag is not None:
        size = count_of(plan.bag, n, "bag")
        chosen = rng_for(plan.seed, *plan.stream, "bag").permutation(n)[:size]
        return [(np.sort(chosen), slice(None))]
    if plan.cross_fit is None:
        return [(everyone, slice(None))]
    shuffled = rng_for(plan.seed, *plan.stream, "folds").permutation(n)
    folds = [np.sort(f) for f in np.array_split(shuffled, plan.cross_fit)]
    return [(np.setdiff1d(everyone, fold, assume_unique=True), fold) for fold in folds]


def _record(
    logits: NDArray[Any], hidden: NDArray[Any] | None, y: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    out = trajectories_of(logits.astype(np.float32), y)
    if hidden is not None:
        length = np.sqrt(1 + np.einsum("nf,nf->n", hidden, hidden, dtype=np.float64))
        out["gradient_norm"] = (out["error_norm"] * length).astype(np.float32)
    return out


def _stopped_when_broken(outputs: Any, plan: Plan) -> Any:
    """Pass epochs on until one is not finite; say which proxy, at which epoch."""
    who = " ".join(str(part) for part in plan.stream)
    e = 0
    remedy = "lower its learning rate or standardize the features"
    try:
        for e, (logits, hidden) in enumerate(outputs, 1):
            # Half the largest number of single precision: a margin is a difference of two.
            if not (np.abs(logits) < np.finfo(np.float32).max / 2).all():
                raise InputError(
                    f"{who} diverged at epoch {e}: its outputs are not finite; {remedy}"
                )
            yield logits, hidden
    except ValueError as error:
        # What MLPClassifier and SGDClassifier say of weights that are no longer numbers.
        known = "non-finite" in str(error) or "overflow" in str(error)
        if isinstance(error, InputError) or not known:
            raise
        raise InputError(f"{who} diverged at epoch {e + 1}: {error}; {remedy}") from None


def _refuse_copies(dynamics: Dynamics) -> None:
    """Stop when two proxies agree but for rounding: their variance would be that rounding.

    Ranks that differ by less than 1 % on average count as copies where there are enough of them
    (naive Bayes on the digits: 0.7 %). Networks differ by five times that and more; linear models
    that have converged on separable data may not, and to rank variance they are copies too.
    """
    loss = dynamics.snapshot("loss")
    ranks = normalized_ranks(loss)
    many = dynamics.examples >= 200
    for j, k in itertools.combinations(range(len(loss)), 2):
        alike = many and np.abs(ranks[j] - ranks[k]).mean() < 0.01
        if alike or np.allclose(loss[j], loss[k], rtol=1e-3, atol=0):
            made = dynamics.provenance["proxies"][k]["model"]
            raise InputError(
                f"proxies {j} and {k} are copies: {made} ranks the losses alike whatever "
                "its seed and order; bag it (bag=0.8), so that each trains on its own sample"
            )
