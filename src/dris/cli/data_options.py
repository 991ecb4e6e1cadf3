"""What a user asks of every command about data, and the steps that all of them begin with."""

import inspect
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from dris.cli import options
from dris.cli.output import Talk
from dris.cli.recipes import Config, recipe_data, recipe_text
from dris.core.errors import InputError

if TYPE_CHECKING:
    from dris.core.dynamics.dynamics import Dynamics
    from dris.core.select.rules import Rule
    from dris.data.labelled import LabelledData
    from dris.data.options import ReadOptions
    from dris.data.writer import Writer
    from dris.learn.engines.engine import Engine
    from dris.pipeline.decision import Decision
    from dris.pipeline.settings import Settings

# The options that say how data is read.
READING = (
    *("data", "label", "id", "trusted", "features", "without", "missing", "text"),
    *("merge_spellings", "no_label", "image_size", "allow_outside"),
)


@dataclass(frozen=True, slots=True)
class Request:
    """The shared options, as they were given."""

    data: options.DataPaths = None
    label: options.Label = None
    id: options.Id = None
    trusted: options.Trusted = None
    features: options.Features = None
    without: options.Without = None
    missing: options.Missing = "mark"
    text: options.Text = "auto"
    merge_spellings: options.MergeSpellings = False
    no_label: options.NoLabel = None
    image_size: options.ImageSize = None
    allow_outside: options.AllowOutside = False
    records: options.From = None
    proxies: options.Proxies = 3
    epochs: options.Epochs = 20
    folds: options.Folds = 4
    scored_epoch: options.ScoredEpoch = None
    model: options.Model = None
    encoder: options.Encoder = None
    canaries: options.CanaryKinds = "uniform"
    matrix: options.Matrix = None
    at_most: options.AtMost = 0.5
    seed: options.Seed = 0
    workers: options.Workers = None
    device: options.Device = "cpu"
    engine: options.EngineName = "local"
    address: options.Address = None
    cpus: options.Cpus = 1
    gpus: options.Gpus = 0
    store: options.StoreFolder = None
    no_harm: options.NoHarm = False
    out: options.Out = Path("dris-out")
    force: options.Force = False
    as_json: options.AsJson = False
    config: Config = None
    command: str = ""
    named: list[Path] = field(default_factory=list)  # the files that the command said it writes
    as_toml: str = ""  # how to do it again

    @property
    def title(self) -> str:
        """What to call the data."""
        paths = self.data or self.records or [Path("data")]
        return paths[0].resolve().name

    @property
    def talk(self) -> Talk:
        """Where words go."""
        return Talk(as_json=self.as_json)

    @property
    def plants(self) -> bool:
        """Whether canaries are planted: not where dynamics are imported."""
        return not self.records and self.canaries != "none"

    def step(self, *words: str | Path, written: "LabelledData | None" = None) -> str:
        """The whole command of a next step, to be typed: it reads as this one did.

        Where it reads what this command wrote of `written`, arrays and images are called as there.
        """
        from dris.core.parameters import command_words

        asked = {name: getattr(self, name) for name in READING[1:]}
        if written is not None and written.origin.format == "npy":
            named = {name: asked[name] for name in ("label", "id", "trusted")}
            asked |= {name: path and Path(path).stem for name, path in named.items()}
        if written is not None and written.origin.format == "images":
            # The list of images that were in folders names them from where it lies itself.
            asked["allow_outside"] = True
        return shlex.join(["dris", *map(str, words), *command_words(asked)])

    def settings(self, data: "LabelledData | None" = None) -> "Settings":
        """What decides the result, checked; the classes of a matrix only where the data is."""
        from dris.data.transition_matrix import read_matrix
        from dris.pipeline.settings import Settings

        kinds = () if self.canaries == "none" else options.names_in(self.canaries)
        if ("matrix" in kinds) != (self.matrix is not None):
            raise InputError("--canaries matrix and --matrix FILE go together; pass both")
        matrix = None
        if self.matrix is not None and data is not None:
            matrix = read_matrix(self.matrix, data.classes)
        return Settings(
            proxies=self.proxies,
            epochs=self.epochs,
            folds=self.folds or None,
            scored_epoch=self.scored_epoch,
            models=options.names_in(self.model),
            encoder=self.encoder,
            seed=self.seed,
            canaries=tuple(k for k in kinds if k != "matrix" or matrix is not None),
            matrix=matrix,
            at_most=self.at_most,
        )

    def where(self) -> "Engine":
        """Where proxies train, once it can be reached."""
        return engine_of(self.engine, self.address, self.cpus, self.gpus, self.device)

    def reading(self) -> "ReadOptions":
        """How the data is to be read."""
        from dris.data.options import ReadOptions

        given = {name: getattr(self, name) for name in READING[1:]}
        for name in ("features", "without", "no_label"):
            given[name] = options.names_in(given[name])
        return ReadOptions.of(**{**given, "features": given["features"] or None})

    def read_labels(self) -> "LabelledData":
        """Labels, ids and trust alone: enough to draw examples and to correct labels."""
        from dris.data.reader import read_with

        leave_pandas_out()
        return read_with(replace(self.reading(), features=(), without=()), self.data or [])

    def read(self) -> "LabelledData":
        """The data, once the settings are known to be sound."""
        from dris.data.options import NothingToLearnError
        from dris.data.reader import read_with
        from dris.learn.extras import require
        from dris.learn.trainers.registry import check_name
        from dris.pipeline.settings import NO_ENCODER

        leave_pandas_out()
        self.settings()
        for name in options.names_in(self.model):
            check_name(name)
        if self.encoder is not None and self.encoder != NO_ENCODER:
            require("torch", "images")
            from dris.learn.trainers.networks.encoders import find_encoder

            find_encoder(self.encoder)
        self.where()
        if not self.data:
            raise InputError("no data was named; pass a file or a folder: dris COMMAND DATA")
        reading = self.reading()
        try:
            return read_with(reading, list(self.data))
        except NothingToLearnError:
            if not self.records:
                raise
        return read_with(replace(reading, features=()), list(self.data))  # others have judged them

    def imported(self) -> "Dynamics":
        """What --from names."""
        from dris.data.foreign_records import import_records

        return import_records(self.records or [])

    def files(self, *names: str) -> list[Path]:
        """Files to write, in a folder that is made; refused when there, before anything trains."""
        from dris.core.files import make_folder

        found = [self.out / name for name in names]
        self.writer().refuse(*found)
        self.recipes().refuse(self.out / f"{self.command}.toml")
        make_folder(self.out)
        self.named.extend(found)
        return found

    def writer(self, *also: Path | None) -> "Writer":
        """Who writes for this command: knows all that it reads, and these files."""
        from dris.data.writer import Writer

        columns = (self.label, self.id, self.trusted)  # of x.npy they are files as well
        arrays = [name for name in columns if name is not None and name.endswith(".npy")]
        named = [*(self.data or []), *(self.records or []), self.matrix, *arrays, *also]
        # A run's own recipe may be written again by it.
        named += [self.config] if self.config != self.out / f"{self.command}.toml" else []
        return Writer(force=self.force).reading(*named)

    @contextmanager
    def together(self) -> Iterator["Writer"]:
        """Who writes the outputs, which appear together, after the recipe of how they came."""
        with self.writer().together() as writer:
            yield writer
            self.write_recipe()

    def write_recipe(self) -> None:
        """Write how to do this again, where the command has outputs.

        What says so already is left alone: killed here, a command that is done leaves nothing.
        """
        path, text = self.out / f"{self.command}.toml", self.as_toml.encode()
        if self.named and not (path.is_file() and path.read_bytes() == text):
            self.recipes().write(path, [text])

    def recipes(self) -> "Writer":
        """Who writes the recipe: the last run's is replaced unless somebody edited it."""
        return replace(self.writer(), force=True)

    def decide(
        self,
        data: "LabelledData",
        *,
        keep: float | None = None,
        rule: "str | Rule" = "recommended",
        fix: bool = False,
    ) -> "tuple[Decision, dict[str, int]]":
        """The decision on the data, and how many proxies were trained, found or imported."""
        from dris.learn.engines.bars import bar
        from dris.learn.engines.processes import give_back_memory
        from dris.learn.store.run_store import Store
        from dris.pipeline.probabilities import read_probabilities
        from dris.pipeline.route import decide

        predicted = read_probabilities(self.records, data.names) if self.records else None
        dynamics = self.imported() if self.records and predicted is None else None
        store = Store(self.store or self.out / "runs")
        begin = time.monotonic()
        try:
            with bar("proxies") as progress, warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always", UserWarning)
                decision = decide(
                    data,
                    keep=keep,
                    rule=rule,
                    settings=self.settings(data),
                    dynamics=dynamics,
                    probabilities=predicted,
                    workers=self.workers,
                    device=self.device,
                    store=store,
                    progress=progress,
                    engine=self.where(),
                    check_harm=not self.no_harm,
                    fix=fix,
                )
        except KeyboardInterrupt:
            self.talk.note(f"finished proxies are kept in {store.root}; to go on: {again()}")
            raise
        give_back_memory()
        for warning in said:
            self.talk.note(f"dris: {warning.message}")
        if dynamics is not None or predicted is not None:
            models = 1 if dynamics is None else dynamics.proxies
            return decision, {"found": 0, "trained": 0, "imported": models}
        trained, there = store.tally.trained, store.tally.found
        count = {"found": there, "trained": trained, "imported": 0}
        self.talk.note(
            f"proxies: {trained} trained, {count['found']} found in {store.root} "
            f"({time.monotonic() - begin:.1f} s)"
        )
        return decision, count

    def result(
        self,
        command: str,
        decision: "Decision",
        proxies: dict[str, int],
        files: list[Path],
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """What every command about data prints with --json: the decision, and what was written."""
        self.talk.result(
            {
                "command": command,
                **decision.to_dict(),
                **(more or {}),
                "proxies": proxies,
                "files": [str(path) for path in files],
            }
        )

    def recipe(self, decision: "Decision") -> dict[str, Any]:
        """How to do it again: what was read how, the settings, and what came of them."""
        asked = {name: getattr(self, name) for name in READING[1:]}
        imported = [str(path) for path in self.records or []]
        return {**decision.recipe(), "reading": asked, "imported": imported}


def again() -> str:
    """The command line that runs now, to be typed again."""
    return shlex.join(["dris", *sys.argv[1:]])


def engine_of(
    name: str, address: str | None, cpus: float, gpus: float, device: str = "cpu"
) -> "Engine":
    """The engine that options name, once it can be reached."""
    from dris.learn.engines.engine import Engine

    engine = Engine(name, address, cpus, gpus)
    engine.devices(device)
    if engine.name == "ray":
        from dris.learn.engines.ray_tasks import connect

        connect(engine)
    return engine


class _NoPandas:
    """A finder that finds no pandas."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def leave_pandas_out() -> None:
    """Let Arrow look for pandas now, in vain: importing it takes longer than most files do.

    Arrow asks once, at its first array. Who calls `to_pandas` later has it all the same.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow

    sys.meta_path.insert(0, _NoPandas)
    try:
        pyarrow.array([0])
    finally:
        sys.meta_path.remove(_NoPandas)


def takes_request(command: Callable[..., None], *names: str) -> Callable[..., None]:
    """A command whose first parameter is a `Request` as one with its options, or those named.

    The data comes first, then the command's own options; where one has the name of a shared one,
    name the others.
    """
    shared = get_type_hints(Request, include_extras=True)
    own = list(inspect.signature(command).parameters.values())[1:]
    names = (*names, "config") if names else tuple(f.name for f in fields(Request))
    chosen = [
        f
        for f in fields(Request)
        if f.name in names and f.name not in ("named", "command", "as_toml")
    ]
    taken = [f.name for f in chosen]

    @wraps(command)
    def run(**given: Any) -> None:
        if "data" in taken and not given["data"]:
            given["data"] = recipe_data(given["config"]) or None
        own = {name: value for name, value in given.items() if name not in taken}
        ask = Request(**{name: given[name] for name in taken}, command=command.__name__)
        path = ask.out / f"{ask.command}.toml"
        ask = replace(ask, as_toml=recipe_text(ask.command, given, path))
        command(ask, **own)
        ask.write_recipe()

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(f.name, keyword, default=f.default, annotation=shared[f.name])
        for f in chosen
    ]
    extra = [p.replace(kind=keyword) for p in own]
    everything = [parameters[0], *extra, *parameters[1:]]
    run.__signature__ = inspect.Signature(everything)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in everything}
    return run
