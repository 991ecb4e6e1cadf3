"""Train K proxies and join what each thinks of each example after every epoch."""

import itertools
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dris.core.dynamics.best_epoch import best_epoch, held_from
from dris.core.dynamics.columns import TRAJECTORIES, labels_for
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError
from dris.core.files import make_folder
from dris.core.scores.ranks import normalized_ranks
from dris.core.streams import check_seed
from dris.core.temporaries import temporary_folder
from dris.core.validate import check_count, check_ids, check_labels
from dris.learn.engines.engine import LOCAL, Engine, as_engine
from dris.learn.engines.processes import Progress
from dris.learn.engines.tasks import run_all
from dris.learn.jobs.kept_jobs import hash_data
from dris.learn.jobs.proxy_job import train
from dris.learn.jobs.stacked_job import train_stacked
from dris.learn.recipe import Recipe
from dris.learn.record.array_like import refuse_other_index
from dris.learn.store.run_store import Store
from dris.learn.trainers.folds import in_and_out
from dris.learn.trainers.inputs import (
    check_held_out,
    check_ways,
    checked_inputs,
    checked_test,
    count_rows,
    rows_at,
)
from dris.learn.trainers.job import (
    Data,
    DivergedError,
    Group,
    Job,
    Normalize,
    Trained,
    epochs_of,
    folds_for,
)
from dris.learn.trainers.registry import check_model, trainer_of


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
    bag: float | None = None,
    cross_fit: int | None = None,
    patience: int | None = None,
    record: Literal["all", "scored"] = "all",
    gradient_norm: bool = False,
    rival: bool = False,
    standardize: bool | Sequence[Group] = True,
    classes: int | None = None,
    judged: ArrayLike | None = None,
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
        x: Features (N, D), also sparse ones for stacked models, images (N, C, H, W), or a
            map-style torch Dataset.
        y: Given labels, integers 0..C-1, or strings, whose sorted values then stand in the
            provenance as "classes"; in pandas with the index of x.
        proxies: K. Two or more for rank variance.
        epochs: Passes over the data; each is recorded.
        model: A name ("mlp" and "linear_head", trained stacked, and on columns made nearly
            uncorrelated "untangled_mlp" and "untangled_linear"; "sgd_log", "boosted_trees", ...;
            with torch "resnet20", "small_cnn", ...), a `Head`, a
            scikit-learn classifier, a function (input_shape, classes) -> nn.Module, an import
            path "package.module:function", or a list of those, dealt out to the K proxies.
        seed: Every random stream is derived from it and from its purpose.
        scored_epoch: Where snapshot scores look; half of the epochs unless given. "held_out":
            where the mean loss out of fold is smallest, which needs `cross_fit`; stacked models
            of several kinds are each taken at their own best epoch, which is then repeated.
        batch_size: Examples per step; 64 for stacked models and scikit-learn, 128 for networks.
        recipe: How networks train, in place of epochs, scored_epoch and batch_size.
        bag: Share of the examples that each proxy trains on, drawn anew for each proxy. For
            models without randomness of their own.
        cross_fit: Number of folds F, at F times the cost: each proxy is then F models. The columns
            are the mean over the F - 1 models that trained on the example, and those of
            `.out_of_fold` come from the one that did not. Equal rows share a fold.
        patience: Stop when the held-out loss was not lowered for so many epochs, with
            scored_epoch="held_out"; there are fewer epochs then. Stacked proxies stop together,
            by the loss of all; every other model by its own, and of all the epochs are kept that
            each has.
        record: "all" keeps every epoch in eval mode; "scored" only the scored one, with AUM and
            forgetting added up: O(K·N) memory. A network adds them up from its training batches,
            a quarter cheaper; other models after every epoch, the same as with "all".
        gradient_norm: Also record the exact last-layer gradient norm.
        rival: Also record the likeliest class besides the label, to suggest labels by.
        standardize: Give each feature (or image channel) mean 0 and standard deviation 1. Of a
            table, the widths of stretches of columns, such as (1, 1, 256), give each stretch one
            deviation for all of its columns, and none weighs more than sixteen; (6, 1) is a
            stretch of six that weighs as one.
        classes: Number of classes, when the largest label may be absent.
        judged: Labels to judge the examples by where they are not those trained on, such as
            canaries' (stacked models with `cross_fit`). Out of fold that is fair: nobody who
            judges has seen the example under any label. In fold it is not.
        ids: Names of the examples, kept through everything; positions unless given. Training goes
            by their order, so that the same rows in another order give the same proxies.
        test: Held-out (x, y); each proxy's accuracy on them goes into the provenance.
        workers: Processes, or for stacked models threads, to train in, all cores unless given;
            the result is the same.
        device: "cpu" (one thread per process), "cuda" (one proxy per GPU at a time) or "cuda:1".
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
    proxies = check_count(proxies, "proxies", at_least=1)
    if workers is not None:
        check_count(workers, "workers", at_least=1)
    kinds = [check_model(m) for m in (model if isinstance(model, list | tuple) else [model])]
    if not kinds:
        raise InputError("model is an empty list; name at least one")
    data = checked_inputs(x)
    refuse_other_index(x, y)
    y, words = numbered(y)
    labels = labels_for(check_labels(y, classes or len(words) or None), count_rows(data))
    names = check_ids(ids, len(labels))
    pick = scored_epoch == "held_out"
    stacked = all(trainer_of(kind).trains_together for kind in kinds)
    check_ways(bag, cross_fit, record, len(labels), stacked=stacked)
    check_held_out(pick, patience, cross_fit)
    asked = None
    if judged is not None:
        asked = labels_for(check_labels(judged, classes or len(words) or None), len(labels))
        if not stacked or cross_fit is None:
            raise InputError("judged needs stacked models and folds: cross_fit=4")
    at = None if isinstance(scored_epoch, str) else scored_epoch
    how = [recipe or default_recipe(kind, epochs, batch_size, at) for kind in kinds]
    where = as_engine(engine)
    places = where.devices(device)
    base = Job(
        model=None,
        stream=(),
        seed=check_seed(seed),
        classes=int(classes or len(words) or int(labels.max()) + 1),
        recipe=how[0],
        bag=bag,
        folds=cross_fit,
        record=record,
        gradient_norm=gradient_norm,
        rival=rival,
        normalize=standardize if isinstance(standardize, bool) else tuple(standardize),
        patience=patience,
        pick=pick,
    )
    # Proxy k has model k, and so on around; those of one kind are one job.
    first = [
        next(j for j in range(i + 1) if kinds[j] is kinds[i] or kinds[j] == kinds[i])
        for i in range(len(kinds))
    ]
    of_kind = [[k for k in range(proxies) if first[k % len(kinds)] == i] for i in range(len(kinds))]
    jobs = [
        job
        for i, (kind, members) in enumerate(zip(kinds, of_kind, strict=True))
        for job in jobs_of(replace(base, model=kind, recipe=how[i]), members, places)
    ]
    if test is not None and words:
        test = (test[0], numbered(test[1], words)[0])
    order = np.argsort(names, kind="stable")
    moved = not np.array_equal(order, np.arange(len(order)))
    inputs = rows_at(data, order) if moved else data
    held_out = Data(
        inputs,
        labels[order] if moved else labels,
        *checked_test(test, data),
        judged=asked if asked is None or not moved else asked[order],
    )
    # Nothing holds on to the single proxies once they are joined.
    trained = train_jobs(jobs, held_out, store, workers, progress, where)
    several = pick and len(jobs) > 1
    if several and stacked and record == "all":
        trained = _each_at_its_best(trained)
    dynamics = joined(jobs, trained, held_out)
    if pick and record == "all" and not (stacked and (several or asked is not None)):
        dynamics = dynamics.at(best_epoch(dynamics))
    if cross_fit is None:  # out of fold each says something of its own, however alike they are
        refuse_copies(dynamics)
    if moved:
        dynamics = dynamics.reordered(np.argsort(order))
    if words:
        dynamics = replace(dynamics, provenance={**dynamics.provenance, "classes": list(words)})
    return replace(dynamics, ids=names)


def _each_at_its_best(trained: Sequence[Trained]) -> list[Trained]:
    """Jobs whose proxies stopped at different epochs, as if each had waited at its best one."""
    last = max((t.dynamics.scored_epoch for t in trained if t.dynamics is not None), default=1)
    return [
        t
        if t.dynamics is None
        else replace(t, dynamics=held_from(t.dynamics, t.dynamics.scored_epoch, last))
        for t in trained
    ]


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


def jobs_of(base: Job, members: Sequence[int], places: Sequence[str]) -> list[Job]:
    """The jobs of the proxies of one kind: one of them all, or one for each model to train.

    >>> base = Job("mlp", (), 0, 2, Recipe(1, 1, 0.1), folds=2)
    >>> len(jobs_of(base, [0, 1], ["cpu"])), len(jobs_of(replace(base, model="fc"), [0], ["cpu"]))
    (1, 2)
    """
    if not members:
        return []
    if trainer_of(base.model).trains_together:
        return [replace(base, stream=("proxy",), members=tuple(members), device=places[0])]
    return [
        replace(base, stream=("proxy", k), fold=fold, device=places[k % len(places)])
        for k in members
        for fold in range(base.folds or 1)
    ]


def train_jobs(
    jobs: Sequence[Job],
    data: Data,
    store: Store | str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine = LOCAL,
) -> list[Trained]:
    """Every job's dynamics, and what went wrong in it, in the order of the jobs."""
    kept = Store(store) if isinstance(store, str | Path) else store
    if kept is not None:
        make_folder(kept.root)  # here, in one sentence, rather than in every worker
        for job in jobs:
            trainer_of(job.model).refuse_unnamed(job.model)
        # Here, not in a worker: what stands in a notebook has its source in this process only.
        jobs = [replace(job, code=trainer_of(job.model).hash_source(job.model)) for job in jobs]
    total = sum(epochs_of(job) for job in jobs)
    gpus = len({job.device for job in jobs if job.device != "cpu"})
    with temporary_folder() as folder:
        # Ray has an object store of its own, and its nodes may share no disk.
        where = folder if engine.name == "local" else None
        prepared: dict[tuple[str, Normalize], Data] = {}
        tasks = []
        for job in jobs:
            kind = trainer_of(job.model)
            which = kind.title, kind.scaling(job, data)
            if which not in prepared:
                ready = kind.prepare(data, which[1], where)
                if kept is not None:
                    ready = replace(ready, hashes=hash_data(ready))
                prepared[which] = ready
            tasks.append((job, prepared[which]))
        if engine.name == "ray":
            from dris.learn.jobs.ray_jobs import train_on_ray

            how: dict[str, Any] = {"workers": workers, "progress": progress, "total": total}
            there = partial(_attempt, threads=max(1, int(engine.cpus)))
            return _tallied(kept, jobs, train_on_ray(there, tasks, kept, engine=engine, **how))
        # Stacked models share this process; others get processes of one thread each.
        at_once = all(trainer_of(job.model).trains_together for job in jobs)
        threads = (workers or os.cpu_count() or 1) if len(tasks) == 1 or at_once else 1
        here = partial(_attempt, threads=threads)
        each = [(*task, kept) for task in tasks]
        many = 1 if at_once else workers or gpus or None
        trained = run_all(here, each, workers=many, progress=progress, total=total)
        return _tallied(kept, jobs, trained)


def _tallied(store: Store | None, jobs: Sequence[Job], results: Sequence[Trained]) -> list[Trained]:
    """The results, once the store has counted their proxies; a proxy's folds count as one."""
    for job, result in zip(jobs, results, strict=True):
        if store is None or job.fold:
            continue
        count = len(job.members) or 1
        if result.from_store:
            store.tally.found += count
        else:
            store.tally.trained += count - len(result.broken)
    return list(results)


def _attempt(
    job: Job, data: Data, store: Store | None, tick: Callable[[], None], *, threads: int = 1
) -> Trained:
    if trainer_of(job.model).trains_together:
        return train_stacked(job, data, store, tick, threads=threads)
    left = epochs_of(job)

    def counted() -> None:
        nonlocal left
        left -= 1
        tick()

    try:
        return train(job, data, store, counted)
    except DivergedError as error:
        for _ in range(left):  # epochs that will never come: progress still ends at its total
            tick()
        return Trained(None, {0: error})


def default_recipe(
    model: Any, epochs: int, batch_size: int | None = None, scored_epoch: int | None = None
) -> Recipe:
    """The paper's proxy recipe over `epochs`; scikit-learn models bring their own step sizes.

    >>> default_recipe("sgd_log", 20).batch_size, default_recipe("resnet20", 20).batch_size
    (64, 128)
    """
    return Recipe(
        epochs=epochs,
        batch_size=trainer_of(model).batch_size if batch_size is None else batch_size,
        learning_rate=0.05,
        scored_epoch=scored_epoch,
    )


def joined(jobs: Sequence[Job], results: Sequence[Trained], data: Data) -> Dynamics:
    """One `Dynamics` of all proxies that finished; the others are named in a warning."""
    if len(jobs) == 1 and jobs[0].members and results[0].dynamics and not results[0].broken:
        return results[0].dynamics
    parts: dict[int, Dynamics] = {}
    missing: dict[int, str] = {}
    apart: dict[int, list[tuple[Job, Trained]]] = {}
    for job, result in zip(jobs, results, strict=True):
        if not job.members:
            apart.setdefault(int(job.stream[1]), []).append((job, result))
            continue
        missing |= {job.members[i]: str(error) for i, error in result.broken.items()}
        left = [k for i, k in enumerate(job.members) if i not in result.broken]
        for i, k in enumerate(left if result.dynamics is not None else ()):
            parts[k] = result.dynamics.only([i])  # type: ignore[union-attr]
    for k, mine in apart.items():
        errors = [str(error) for _, result in mine for error in result.broken.values()]
        if errors:
            missing[k] = errors[0]
        else:
            each = _alike([result.dynamics for _, result in mine if result.dynamics is not None])
            parts[k] = _joined_folds(mine[0][0], each, data)
    told = [missing[k] for k in sorted(missing)]
    if not parts:
        raise InputError(f"no proxy finished; {told[0]}")
    dynamics = Dynamics.merge(_alike([parts[k] for k in sorted(parts)]))
    if missing:
        warnings.warn(
            f"{len(parts)} of {len(parts) + len(missing)} proxies finished; {'; '.join(told)}",
            stacklevel=3,
        )
        dynamics = replace(dynamics, provenance={**dynamics.provenance, "missing": told})
    return dynamics


def _alike(parts: Sequence[Dynamics]) -> list[Dynamics]:
    """Models that have stopped by themselves, up to the last epoch that all of them have.

    Each is scored in the middle of its own epochs, so that they are brought to one, too.
    """
    if any(part.is_summary for part in parts):
        return list(parts)
    if len({part.epochs for part in parts}) > 1:
        last = min(part.epochs[-1] for part in parts)
        parts = [part.until(last) for part in parts]
    scored = min((part.scored_epoch for part in parts), default=0)
    return [part if part.scored_epoch == scored else part.at(scored) for part in parts]


def _joined_folds(job: Job, folds: Sequence[Dynamics], data: Data) -> Dynamics:
    """The models of one proxy's folds as one proxy, in fold and out of fold."""
    if job.folds is None:
        return folds[0]
    fold = folds_for(job, job.stream, data)
    first = folds[0]
    each = {
        name: np.stack([part.columns[name][0] for part in folds])
        for name in first.columns
        if name in TRAJECTORIES
    }
    seen, unseen = ({n: c[None] for n, c in side.items()} for side in in_and_out(each, fold))
    return replace(first, columns=seen, out_of_fold=replace(first, columns=unseen))


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
