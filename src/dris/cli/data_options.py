"""The options that all commands about data share, and the steps that these begin with."""

import inspect
import json
import shlex
import sys
import tomllib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from dris.cli.output import Output
from dris.core.errors import InputError, command_words
from dris.core.sanitize import printable

if TYPE_CHECKING:
    from dris.data.labelled import LabelledData, ReadOptions
    from dris.data.writer import Writer
    from dris.learn.engines.tasks import Engine
    from dris.pipeline.decision import Decision
    from dris.pipeline.settings import Settings

_ABOUT = ("dris", "command")  # what a recipe says of itself
_NOT_KEPT = ("force", "verbose", "quiet", "as_json", "config")  # of the moment, not of the result
_TYPED = {"records": "from", "form": "as", "tool": "as", "take": "import", "give": "export"}


def recipe_text(command: str, options: Mapping[str, Any], path: Path) -> str:
    """The options of a run as TOML; what has no value is left out."""
    from dris import __version__

    values = {"dris": __version__, "command": command, **options}
    lines = [f"# To do it again: dris {command} --config {path}"]
    for name, value in values.items():
        if value is not None and value != [] and name not in _NOT_KEPT:
            lines.append(f"{_TYPED.get(name, name)} = {_toml(value)}")
            try:
                lines[-1].encode()
            except UnicodeEncodeError:
                why = f"{lines[-1]!a} holds bytes that are no text in UTF-8; use another name"
                raise InputError(why) from None
    return "\n".join(lines) + "\n"


def _take(ctx: typer.Context, path: Path | None) -> Path | None:
    """Let a file give the defaults of what is not typed; what it cannot give is an error."""
    if path is None or ctx.resilient_parsing:
        return path
    known = {str(p.name): p for p in ctx.command.params if p.name not in _NOT_KEPT}
    names = {typed: name for name, typed in _TYPED.items() if name in known}
    values = {"command": ctx.command.name, **_values_in(path)}
    theirs = printable(str(values["command"]))
    if theirs != ctx.command.name:
        raise InputError(
            f"--config {path} is the recipe of dris {theirs}; type dris {theirs} --config {path}, "
            "or take the line of its command out"
        )
    ctx.default_map = {}
    for typed in [one for one in values if one not in _ABOUT]:
        value, name = values[typed], names.get(typed, typed.replace("-", "_"))
        if isinstance(value, dict):
            raise InputError(f"--config {path}: [{name}] is a table; options stand at the top")
        if name not in known:
            near = get_close_matches(name, sorted(known), 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"--config {path}: this command has no option {name!r}{meant}")
        several = known[name].nargs == -1 or getattr(known[name], "multiple", False)
        parts = value if several and isinstance(value, list) else [value]
        if not all(isinstance(one, str if several else str | int | float) for one in parts):
            asked = "text, or a list of texts" if several else "a single value"
            raise InputError(f"--config {path}: {typed} must be {asked}")
        # As it would be typed: a number that is none of the option's is refused, not rounded.
        words = [one if isinstance(one, bool) else str(one) for one in parts]
        ctx.default_map[name] = words if several else words[0]
    return path


def _values_in(path: Path) -> dict[str, Any]:
    from dris.data.files import reading

    with reading(path, "file of options"):
        text = path.read_bytes()
    try:
        return tomllib.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"--config {path} is not TOML: it is no text") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"--config {path} is not TOML: {printable(error)}") from None


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    plain = value if isinstance(value, bool | int | float) else str(value)
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")


def share(text: str | float) -> float:
    """A share as people write it.

    >>> share("25%"), share("0.25"), share(" 2.5 % ")
    (0.25, 0.25, 0.025)
    """
    words = str(text).strip()
    try:
        return float(words[:-1]) / 100 if words.endswith("%") else float(words)
    except ValueError:
        raise typer.BadParameter(f"must be a share such as 0.25 or 25%, got {text!r}") from None


def names_in(text: str | None) -> tuple[str, ...]:
    """The names in a list with commas; none when nothing was given."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def option(metavar: str, text: str, *flags: str, **more: Any) -> Any:
    """An option with a value."""
    return typer.Option(*flags, metavar=metavar, help=text, **more)


def flag(name: str, text: str) -> Any:
    """An option without a value."""
    return typer.Option(name, help=text)


@dataclass(frozen=True, slots=True)
class DataOptions:
    """The shared options, as they were given; `given` has those of this `command` alone too."""

    data: Annotated[list[Path] | None, typer.Argument(metavar="DATA", hidden=True)] = None
    label: Annotated[str | None, option("COLUMN", "The given labels [label].")] = None
    annotators: Annotated[
        str | None, option("A,B", "Columns of several people's labels, or their file.")
    ] = None
    id: Annotated[str | None, option("COLUMN", "Ids [row numbers].")] = None
    group: Annotated[
        str | None, option("COLUMN", "Rows of one patient or user stay in one fold, or none.")
    ] = None
    trusted: Annotated[str | None, option("COLUMN", "Yes where a label is right.")] = None
    features: Annotated[str | None, option("A,B", "Columns to learn from [all].")] = None
    without: Annotated[str | None, option("A,B", "Columns to leave out.")] = None
    missing: Annotated[str, option("HOW", "Gaps: mark, median or refuse.")] = "mark"
    text: Annotated[str, option("HOW", "Text: words, sentences or auto.")] = "auto"
    merge_spellings: Annotated[
        bool, flag("--merge-spellings", "Treat labels Cat, cat and CAT as one.")
    ] = False
    no_label: Annotated[str | None, option("A,B", "Labels that mean none, such as ?.")] = None
    ordinal: Annotated[
        str | None, option("A,B,C", "All classes in their order, such as low,middle,high.")
    ] = None
    image_size: Annotated[int | None, option("N", "Resize images to N by N pixels.")] = None
    allow_outside: Annotated[
        bool, flag("--allow-outside", "Follow a table to images outside its folder.")
    ] = False
    encoding: Annotated[str | None, option("NAME", "Of a CSV file, such as cp1252.")] = None
    records: Annotated[
        list[Path] | None,
        option("FILE", "Import dynamics or probabilities; may repeat.", "--from"),
    ] = None
    proxies: Annotated[int, option("K", "Number of proxies.")] = 3
    epochs: Annotated[int, option("N", "Passes over the data.")] = 20
    folds: Annotated[int, option("F", "Folds of each stacked proxy; 0 for none.")] = 4
    scored_epoch: Annotated[
        int | None, option("N", "Epoch to score [by held-out loss].", hidden=True)
    ] = None
    model: Annotated[str | None, option("A,B", "Such as mlp,sgd_log [by the data].")] = None
    encoder: Annotated[
        str | None, option("NAME", "Pretrained image encoder, or none [the installed one].")
    ] = None
    canaries: Annotated[str, option("A,B", "Of uniform, hard, confusable, matrix.")] = "uniform"
    matrix: Annotated[Path | None, option("FILE", "CSV of class transition probabilities.")] = None
    at_most: Annotated[
        float,
        option("SHARE", "Largest share of wrong labels you consider possible.", parser=share),
    ] = 0.5
    seed: Annotated[int, option("N", "Of everything random.")] = 0
    workers: Annotated[int | None, option("N", "Processes [all cores].")] = None
    device: Annotated[str, option("NAME", "cpu, cuda or cuda:1.")] = "cpu"
    engine: Annotated[str, option("NAME", "local, or ray for a cluster.")] = "local"
    # Of Ray alone, explained with it in docs/cluster.md: the help of every command fits a screen.
    address: Annotated[str | None, option("HOST:PORT", "Of the Ray cluster.", hidden=True)] = None
    cpus: Annotated[float, option("N", "On Ray, for each task.", hidden=True)] = 1
    gpus: Annotated[float, option("N", "On Ray, for each task.", hidden=True)] = 0
    store: Annotated[Path | None, option("FOLDER", "Keeps trained proxies [OUT/runs].")] = None
    skip_harm_check: Annotated[
        bool, flag("--skip-harm-check", "Do not measure whether the decision helps.")
    ] = False
    out: Annotated[Path, option("FOLDER", "Folder for the output.")] = Path("dris-out")
    force: Annotated[bool, flag("--force", "Replace what dris wrote there before.")] = False
    verbose: Annotated[bool, flag("--verbose", "Print limits, checks and all notes too.")] = False
    quiet: Annotated[bool, flag("--quiet", "Print only the files that were written.")] = False
    as_json: Annotated[bool, flag("--json", "Print the result as JSON.")] = False
    config: Annotated[
        Path | None,
        option(
            "FILE",
            "Options as OUT/COMMAND.toml has them.",
            "--config",
            callback=_take,
            is_eager=True,
        ),
    ] = None
    command: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What to call the data."""
        return (self.data or self.records or [Path("data")])[0].resolve().name

    @property
    def output(self) -> Output:
        """Where text goes."""
        return Output(as_json=self.as_json, quiet=self.quiet)

    def step(self, *words: str | Path, written: "LabelledData | None" = None) -> str:
        """The command of a next step, which reads data as this one did, or what was `written`."""
        asked = {name: getattr(self, name) for name in READING[1:]}
        if written is not None and written.origin.format == "npy":
            named = {name: asked[name] for name in ("label", "id", "group", "trusted")}
            asked |= {name: path and Path(path).stem for name, path in named.items()}
        if written is not None and written.answers is not None:
            columns = [] if self.reading().answers_file else names_in(self.annotators)
            asked |= {"label": written.origin.label, "annotators": None}
            asked["without"] = [*names_in(self.without), *columns]
        if written is not None and written.origin.format == "images":
            # The list of images that were in folders names them from where it lies itself.
            asked["allow_outside"] = True
        return shlex.join(["dris", *map(str, words), *command_words(asked)])

    # -- what is read ----------------------------------------------------------------------------

    def reading(self) -> "ReadOptions":
        """How the data is to be read."""
        from dris.data.labelled import ReadOptions

        given = {name: getattr(self, name) for name in READING[1:]}
        for name in ("annotators", "features", "without", "no_label", "ordinal"):
            given[name] = names_in(given[name])
        return ReadOptions.of(**{**given, "features": given["features"] or None})

    def read_labels(self) -> "LabelledData":
        """Labels, ids and trust alone: enough to draw examples."""
        from dris.data.reader import read_with

        leave_pandas_out()
        return read_with(replace(self.reading(), features=(), without=()), self.data or [])

    def read(self) -> "LabelledData":
        """The data, once the settings are known to be sound."""
        from dris.data.labelled import NothingToLearnError
        from dris.data.reader import read_with
        from dris.learn.engines.processes import bar
        from dris.learn.extras import require
        from dris.learn.trainers.registry import check_name
        from dris.pipeline.settings import NO_ENCODER

        leave_pandas_out()
        self.settings()
        for name in names_in(self.model):
            check_name(name)
        if self.encoder is not None and self.encoder != NO_ENCODER:
            require("torch", "images")
            from dris.learn.trainers.networks.encoders import find_encoder

            find_encoder(self.encoder)
        self.connect()
        reading, data = self.reading(), self.data or []
        with bar("reading"):
            try:
                return read_with(reading, data)
            except NothingToLearnError:
                if not self.records:  # nor did anybody else judge them
                    raise
                return read_with(replace(reading, features=()), data)

    # -- what is decided -------------------------------------------------------------------------

    def settings(self, data: "LabelledData | None" = None) -> "Settings":
        """What decides the result, checked; the classes of a matrix only where the data is."""
        from dris.data.transition_matrix import read_matrix
        from dris.pipeline.settings import Settings

        kinds, matrix = () if self.canaries == "none" else names_in(self.canaries), None
        if data is None:
            kinds = tuple(kind for kind in kinds if kind != "matrix")
        elif self.matrix is not None:
            matrix = read_matrix(self.matrix, data.classes)
        same = ("proxies", "epochs", "scored_epoch", "encoder", "seed", "at_most")
        return Settings(
            **{name: getattr(self, name) for name in same},
            folds=self.folds or None,
            models=names_in(self.model),
            canaries=kinds,
            matrix=matrix,
        )

    def connect(self) -> "Engine":
        """Where proxies train, once it can be reached."""
        from dris.learn.engines import tasks

        engine = tasks.Engine(self.engine, self.address, self.cpus, self.gpus)
        engine.devices(self.device)
        if engine.name == "ray":
            tasks.connect(engine)
        return engine

    def decide(
        self, verb: "Callable[..., Decision]", data: "LabelledData", **how: Any
    ) -> "tuple[Decision, dict[str, int]]":
        """The decision of a verb, and how many proxies were trained, found or imported."""
        from dris.data.foreign_records import import_records
        from dris.learn.engines.processes import bar, give_back_memory
        from dris.learn.store.run_store import Store
        from dris.pipeline.probabilities import read_probabilities

        imported: dict[str, Any] = {}
        if self.records:
            imported["probabilities"] = read_probabilities(self.records, data.names)
            if imported["probabilities"] is None:
                imported = {"dynamics": import_records(self.records)}
        store = Store(self.store or self.out / "runs")
        try:
            with bar("proxies") as progress, warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                decision = verb(
                    data,
                    settings=self.settings(data),
                    workers=self.workers,
                    device=self.device,
                    store=store,
                    progress=progress,
                    engine=self.connect(),
                    check_harm=not self.skip_harm_check,
                    **imported,
                    **how,
                )
                progress.enter("")
        except KeyboardInterrupt:
            self.output.note(f"finished proxies are kept in {store.root}; to go on: {again()}")
            raise
        give_back_memory()
        for message in dict.fromkeys(str(warning.message) for warning in caught):
            self.output.note(f"dris: {message}")
        if imported:
            models = getattr(imported.get("dynamics"), "proxies", 1)
            return decision, {"found": 0, "trained": 0, "imported": models}
        trained, there = store.trained, store.found
        if self.verbose:
            took = ", ".join(f"{name} {s:.1f} s" for name, s in progress.seconds.items())
            self.output.note(f"{trained} proxies trained, {there} found in {store.root}; {took}")
        return decision, {"found": there, "trained": trained, "imported": 0}

    # -- what is written -------------------------------------------------------------------------

    def writer(self, *also: Path | None) -> "Writer":
        """Who writes for this command: knows all that it reads, and these files."""
        from dris.data.writer import Writer

        columns = (self.label, self.id, self.group, self.trusted)  # of x.npy they are files as well
        arrays = [name for name in columns if name is not None and name.endswith(".npy")]
        answers = [] if self.annotators is None else [self.reading().answers_file]
        named = [*(self.data or []), *(self.records or []), self.matrix, *arrays, *answers, *also]
        # A run's own recipe may be written again by it.
        named += [self.config] if self.config != self.out / f"{self.command}.toml" else []
        return Writer(force=self.force).reading(*named)

    def run(
        self,
        verb: "Callable[..., Decision]",
        data: "LabelledData",
        outputs: Mapping[str, Any],
        **how: Any,
    ) -> "Run":
        """Decide by a verb and write all outputs together, the recipe last.

        Files that are there are refused before anything trains; so is a recipe that was edited.
        """
        from dris.core.files import make_folder
        from dris.learn.engines.processes import bar
        from dris.report_page.outputs import NEIGHBOURS, output_names, write_outputs

        path = self.out / f"{self.command}.toml"
        text = recipe_text(self.command, self.given, path).encode()
        names = output_names(data, self.command, **outputs)
        names += [NEIGHBOURS] if self.command == "clean" else []
        self.writer().refuse(*(self.out / name for name in names))
        own = replace(self.writer(), force=True)
        own.refuse(path)
        make_folder(self.out)
        decision, proxies = self.decide(verb, data, **how)
        recipe = self.recipe_values(decision)
        with bar("page"), self.writer().together() as writer:
            files = write_outputs(
                decision, self.out, title=self.title, recipe=recipe, writer=writer, **outputs
            )
            # Killed here, a command that is done leaves nothing new.
            if not (path.is_file() and path.read_bytes() == text):
                own.write(path, [text])
        return Run(decision, proxies, files, outputs.get("form"))

    def recipe_values(self, decision: "Decision") -> dict[str, Any]:
        """How to do it again: what was read how, the settings, and what came of them."""
        imported = [str(path) for path in self.records or []]
        return {**decision.recipe(), **({"imported": imported} if imported else {})}

    def print_files(self, run: "Run", **more: Any) -> None:
        """Each file and what it is; as JSON, if that was asked for, the decision as well."""
        from dris.report_page.outputs import describe_file

        # The page, the list, the data: in the order in which one looks at them.
        order = sorted(run.files, key=lambda p: (p.name != "report.html", p.name[:1] != "i"))
        self.output.files({p: describe_file(p.name, run.decision, run.form) for p in order})
        values = {"command": self.command, **run.decision.to_dict(), **more}
        files = [str(path) for path in run.files]
        self.output.result({**values, "proxies": run.proxies, "files": files})


_NAMES = [one.name for one in fields(DataOptions)]
# The options that say how data is read, and those that say how a decision is made.
READING = tuple(_NAMES[: _NAMES.index("records")])
DECIDING = tuple(_NAMES[_NAMES.index("records") : _NAMES.index("config")])


@dataclass(frozen=True, slots=True)
class Run:
    """What a command came to: the decision, how many proxies it took, the files written."""

    decision: "Decision"
    proxies: dict[str, int]
    files: list[Path]
    form: str | None = None  # of the rows: "data", "ids" or "column"


def again() -> str:
    """The command line that runs now, to be typed again."""
    return shlex.join(["dris", *sys.argv[1:]])


class _NoPandas:
    """A finder that finds no pandas."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def leave_pandas_out() -> None:
    """Keep Arrow from importing pandas, which takes longer than most files do.

    Arrow looks for it once, at its first array; `to_pandas` still works later.
    """
    if "pandas" not in sys.modules:
        import pyarrow

        sys.meta_path.insert(0, _NoPandas)
        pyarrow.array([0])
        sys.meta_path.remove(_NoPandas)


def takes(command: Callable[..., None], *names: str) -> Callable[..., None]:
    """A command whose first parameter is a `DataOptions`, with the named fields as its options."""
    shared = get_type_hints(DataOptions, include_extras=True)
    if "data" in names:  # what a recipe begins with
        names = (*names, "config")
    chosen = [field for field in fields(DataOptions) if field.name in names]
    taken = {field.name for field in chosen}

    @wraps(command)
    def run(**given: Any) -> None:
        options = {name: given[name] for name in taken}
        own = {name: value for name, value in given.items() if name not in taken}
        command(DataOptions(**options, command=command.__name__, given=given), **own)

    keyword = inspect.Parameter.KEYWORD_ONLY
    first, *others = [
        inspect.Parameter(field.name, keyword, default=field.default, annotation=shared[field.name])
        for field in chosen
    ]
    own = [p.replace(kind=keyword) for p in inspect.signature(command).parameters.values()][1:]
    run.__signature__ = inspect.Signature([first, *own, *others])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (first, *own, *others)}
    return run
