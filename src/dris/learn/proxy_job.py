"""Train one proxy, record it after every epoch, keep it in the store so that a kill costs little.

A `Job` is everything that determines one training; the same job gives the same bytes, in
whatever process, after however many interruptions.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dris.core.checks import count_of
from dris.core.dynamics.history import Dynamics
from dris.core.errors import InputError
from dris.core.streams import rng_for
from dris.learn.estimators.staged import Estimator, is_estimator, resolve
from dris.learn.folds import copies_in, folds_of
from dris.learn.networks.schedules import Passes, Schedule
from dris.learn.recipe import Recipe
from dris.learn.record.recorder import Recorder
from dris.learn.stacked.head_models import head_of, is_head
from dris.learn.store.model_names import name_of, parameters_of
from dris.learn.store.run_store import Store, fingerprint
from dris.learn.store.runs import Run

Positions = NDArray[np.int64]


class DivergedError(InputError):
    """A training whose losses are no longer finite; the message names it, the epoch and the step.

    `step` counts from 1 in the epoch; it is None where an estimator does not say.
    """

    epoch: int = 0
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One training: who, on which rows, and what is kept of it.

    `stream` names the random streams ("proxy", 2); `fold` counts folds when cross-fitting; `code`
    is what `code_of` says of the model. A job of stacked models trains all its folds, and a proxy
    for each of `members`, whose streams are (*stream, member): they stop together when `patience`
    epochs have not lowered the held-out loss, and with `pick` are scored where that was smallest.
    """

    model: Any
    stream: tuple[str | int, ...]
    seed: int
    classes: int
    recipe: Recipe
    bag: float | None = None
    folds: int | None = None
    fold: int = 0
    record: Literal["all", "scored"] = "all"
    gradient_norm: bool = False
    rival: bool = False
    normalize: bool = True
    device: str = "cpu"
    code: str | None = None
    members: tuple[int, ...] = ()
    patience: int | None = None
    pick: bool = False

    @property
    def who(self) -> str:
        """The proxy in words.

        >>> Job("mlp", ("proxy", 2), 0, 10, Recipe(1, 1, 0.1)).who
        'proxy 2'
        """
        return " ".join(str(part) for part in self.stream)


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The proxies of a job that finished, and how the others broke, by their place in the job."""

    dynamics: Dynamics | None
    broken: Mapping[int, DivergedError] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether all of them finished."""
        return self.dynamics is not None and not self.broken


@dataclass(frozen=True, slots=True)
class Data:
    """What a job trains on, and held-out examples (both or neither) to state its accuracy on."""

    x: Any
    y: NDArray[np.int64]
    test_x: Any = None
    test_y: NDArray[np.int64] | None = None


def train(job: Job, data: Data, store: Store | None, tick: Callable[[], None]) -> Dynamics:
    """The `Dynamics` of one job (K = 1) over all examples, ids = positions.

    One thread, so that no bit depends on the machine's other work. `tick` is called after each
    epoch, also for those found in the store.
    """
    if store is None:
        return _follow(job, data, None, tick)
    run = store.run(key_of(job, data))
    with run.locked():
        if run.done:
            found = run.load()
            for _ in range(job.recipe.stop):
                tick()
            return found
        begin = time.monotonic()
        dynamics = _follow(job, data, run, tick)
        run.finish(dynamics, seconds=time.monotonic() - begin)
        return run.load()


def models_of(job: Job) -> int:
    """How many models a job trains.

    >>> models_of(Job("mlp", ("proxy",), 0, 2, Recipe(1, 1, 0.1), folds=4, members=(0, 1, 2)))
    12
    """
    return len(job.members) * (job.folds or 1) if job.members else 1


def epochs_of(job: Job) -> int:
    """How many epochs a job trains, counted once for each model.

    >>> epochs_of(Job("mlp", ("proxy",), 0, 2, Recipe(5, 1, 0.1), members=(0, 1)))
    10
    """
    return job.recipe.stop * models_of(job)


def key_of(job: Job, data: Data) -> dict[str, Any]:
    """Everything that determines a job's bytes, as plain values."""
    told = asdict(replace(job, model=name_of(job.model)))
    for name, unset in (("members", ()), ("patience", None), ("pick", False)):
        if told[name] == unset:  # so that runs from before these were there are still found
            del told[name]
    if job.folds is not None:
        told["measured"] = "all"
    return {
        **told,
        "parameters": parameters_of(job.model),
        "stream": list(job.stream),
        "data": _print_of(data.x),
        "labels": fingerprint(data.y),
        "test": None if data.test_y is None else [_print_of(data.test_x), fingerprint(data.test_y)],
    }


def everyone_or_bag(job: Job, stream: tuple[str | int, ...], n: int) -> Positions:
    """The rows that a proxy without folds trains on.

    >>> job = Job("mlp", ("proxy", 0), 0, 2, Recipe(1, 1, 0.1), bag=0.4)
    >>> len(everyone_or_bag(job, job.stream, 10))
    4
    """
    everyone = np.arange(n, dtype=np.int64)
    if job.bag is None:
        return everyone
    size = count_of(job.bag, n, "bag")
    return np.sort(rng_for(job.seed, *stream, "bag").permutation(everyone)[:size])


def folds_for(
    job: Job,
    stream: tuple[str | int, ...],
    data: Data,
    copies: Positions | None = None,
) -> Positions:
    """The fold of each example for one proxy; equal rows share one, labels are spread evenly.

    `copies` is what `copies_of` says of the data, where somebody has asked it before.

    >>> job = Job("mlp", ("proxy", 0), 0, 2, Recipe(1, 1, 0.1), folds=5)
    >>> np.bincount(folds_for(job, job.stream, Data(np.eye(10), np.arange(10) % 2))).tolist()
    [2, 2, 2, 2, 2]
    """
    rng = rng_for(job.seed, *stream, "folds")
    same = copies_of(data) if copies is None else copies
    return folds_of(data.y, same, job.folds or 1, rng=rng)


def copies_of(data: Data) -> Positions:
    """For each example the first one with the same features; itself in a Dataset.

    >>> copies_of(Data(np.array([[1.0], [2.0], [1.0]]), np.array([0, 0, 1]))).tolist()
    [0, 1, 0]
    """
    readable = isinstance(data.x, np.ndarray) or hasattr(data.x, "indptr")
    return copies_in(data.x) if readable else np.arange(len(data.y))


def provenance_of(job: Job, accuracy: float | None) -> dict[str, Any]:
    """How the one proxy of a job's dynamics was made.

    >>> job = Job("linear", ("proxy", 0), 0, 2, Recipe(1, 1, 0.1))
    >>> provenance_of(job, 0.9)["proxies"][0]["model"]
    'linear'
    """
    return {"proxies": [made_by(job, job.stream, accuracy)]}


def made_by(job: Job, stream: tuple[str | int, ...], accuracy: float | None) -> dict[str, Any]:
    """How one proxy of a job was made, as plain values.

    >>> made_by(Job("mlp", ("proxy",), 0, 2, Recipe(1, 1, 0.1)), ("proxy", 3), None)["stream"]
    ['proxy', 3]
    """
    return {
        "stream": list(stream),
        "model": name_of(job.model),
        "seed": job.seed,
        "recipe": asdict(job.recipe),
        "bag": job.bag,
        "folds": job.folds,
        "test_accuracy": accuracy,
    }


def _print_of(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return fingerprint(x)
    if hasattr(x, "indptr"):
        return fingerprint(x.data, x.indices, x.indptr, np.array(x.shape))
    from dris.learn.networks.sources import input_of

    # A Dataset is read once more: two of one kind and length would share a run otherwise.
    return fingerprint([fingerprint(input_of(x[i]).numpy()) for i in range(len(x))])


def _follow(job: Job, data: Data, run: Run | None, tick: Callable[[], None]) -> Dynamics:
    y = data.y
    measured = np.arange(len(y), dtype=np.int64)
    rows = everyone_or_bag(job, job.stream, len(y))
    if job.folds is not None:
        rows = np.flatnonzero(folds_for(job, job.stream, data) != job.fold)
    recipe = job.recipe
    recorder = Recorder(
        measured,
        labels=y[measured],
        record=job.record,
        scored_epoch=recipe.scored,
        gradient_norm=job.gradient_norm,
        rival=job.rival,
    )
    with one_thread(job):
        engine = _engine(job, data.x, y, rows)
        start = _resumed(engine, recorder, run)
        for _ in range(start):
            tick()
        for epoch in range(start + 1, recipe.stop + 1):
            with told_who(job, epoch):
                _one_epoch(job, engine, recorder, y, measured, epoch)
            if run is not None and engine.state() is not None:
                record, state = _split(recorder)
                run.save_epoch(epoch, record, {**engine.state(), **state})
            tick()
        accuracy = None if data.test_y is None else engine.accuracy(data.test_x, data.test_y)
    return replace(recorder.dynamics(), provenance=provenance_of(job, accuracy))


def _one_epoch(
    job: Job, engine: Any, recorder: Recorder, y: NDArray[np.int64], measured: Positions, epoch: int
) -> None:
    # Networks hand over what they see in training; the others are measured after every epoch.
    follows = job.record == "scored" and not is_estimator(job.model)
    if follows:
        engine.train_epoch(epoch, lambda at, logits: recorder.update(at, logits, y[at]))
    else:
        engine.train_epoch(epoch)
    scored = job.record == "scored" and epoch == job.recipe.scored
    if scored or not follows:
        wants = job.gradient_norm and (scored or job.record == "all")
        for at in engine.portions(measured):
            logits, hidden = engine.measure(at, hidden=wants)
            logits = logits.astype(np.float32, copy=False)
            if not follows:
                recorder.update(at, logits, y[at], hidden if job.record == "all" else None)
            if scored:
                recorder.snapshot(at, logits, y[at], hidden)
    recorder.end_epoch()


def _engine(job: Job, x: Any, y: NDArray[np.int64], rows: Positions) -> Any:
    stream = job.stream if job.folds is None else (*job.stream, "fold", job.fold)
    equal = not is_estimator(job.model)
    passes = Passes(rows, job.recipe.batch_size, job.seed, stream, equal=equal)
    return engine_of(job, x, y, passes, stream=stream)


def engine_of(
    job: Job, x: Any, y: NDArray[np.int64], schedule: Schedule, *, stream: tuple[str | int, ...]
) -> Any:
    """The head, the network or the estimator of a job, untrained, on a schedule."""
    if is_head(job.model):
        from dris.learn.stacked.one_head import OneHead

        return OneHead(
            head_of(job.model),
            x,
            y,
            job.classes,
            job.recipe,
            seed=job.seed,
            stream=stream,
            schedule=schedule,
        )
    if is_estimator(job.model):
        return Estimator(
            resolve(job.model),
            x,
            y,
            job.classes,
            epochs=job.recipe.epochs,
            seed=job.seed,
            stream=stream,
            schedule=schedule,
        )
    import torch

    from dris.learn.networks.loop import Network
    from dris.learn.networks.sources import DatasetSource, TensorSource

    device = torch.device(job.device)
    source = (
        TensorSource(x, device, normalize=job.normalize)
        if isinstance(x, np.ndarray)
        else DatasetSource(x, device)
    )
    return Network(
        job.model,
        source,
        y,
        job.classes,
        job.recipe,
        seed=job.seed,
        stream=stream,
        schedule=schedule,
        device=device,
    )


def _resumed(engine: Any, recorder: Recorder, run: Run | None) -> int:
    """The last epoch that need not be trained again, with engine and recorder put there."""
    checkpoint = run.checkpoint() if run is not None else None
    if checkpoint is None:
        return 0
    state = dict(checkpoint.state)
    plain = json.loads(state.pop("recorder").tobytes())
    held: dict[str, Any] = {**plain, "ids": recorder.ids}
    prefix = "recorder."
    for name in [n for n in state if n.startswith(prefix)]:
        held[name.removeprefix(prefix)] = state.pop(name)
    if checkpoint.records and checkpoint.records[0]:
        for name in checkpoint.records[0]:
            held[name] = np.stack([record[name] for record in checkpoint.records])
    recorder.load_state_dict(held)
    engine.restore(state)
    return checkpoint.epoch


def _split(recorder: Recorder) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The last epoch's columns, and what else the recorder needs to go on."""
    record: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for name, value in recorder.state_dict().items():
        if name == "ids":
            continue
        if name.startswith("closed/"):
            record[name] = value[-1]
        elif isinstance(value, np.ndarray):
            arrays[f"recorder.{name}"] = value
        else:
            plain[name] = value
    arrays["recorder"] = np.frombuffer(json.dumps(plain, sort_keys=True).encode(), dtype=np.uint8)
    return record, arrays


@contextmanager
def told_who(job: Job, epoch: int) -> Iterator[None]:
    """Name the training and the epoch when its numbers are no longer finite."""
    try:
        yield
    except ValueError as error:
        text = str(error)
        # Ours say so; scikit-learn's are plain ValueErrors. Any other is the user's code failing.
        signs = ("finite", "overflow") if is_estimator(job.model) else ("finite", "diverged")
        ours = (isinstance(error, InputError) and error.__cause__ is None) or is_estimator(
            job.model
        )
        if not ours or not any(sign in text for sign in signs):
            raise
        remedy = "" if "lower" in text else "; lower its learning rate or standardize"
        diverged = DivergedError(f"{job.who} diverged at epoch {epoch}: {text}{remedy}")
        diverged.epoch, diverged.step = epoch, getattr(error, "step", None)
        raise diverged from None


@contextmanager
def one_thread(job: Job) -> Iterator[None]:
    """One thread for whatever computes on the CPU, and the number there was afterwards."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        if is_estimator(job.model) or is_head(job.model) or job.device != "cpu":
            yield
            return
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)
