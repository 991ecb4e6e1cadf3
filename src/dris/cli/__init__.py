"""The command line: thin commands over the library; heavy imports live inside each of them.

Exit codes: 0 done, 1 an input breaks a rule (one sentence on stderr), 2 wrong usage,
70 an error of dris itself (--debug shows where), 130 interrupted. `dris check` answers by 0, 1 and
2, so that 3 stands for either mistake there.

In reading order: `data_options` (what all commands about data share, and the options of a run as a
file), `data_commands` (all that read data), `output`. Here stand how help reads (groups, panels,
one line an option), the other commands, and how an error ends.
"""

import io
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from dris.cli import data_commands as data
from dris.cli.data_options import DECIDING, READING, flag, option, takes
from dris.cli.output import (
    Output,
    open_closed_streams,
    say_problem,
    showing_notes,
    signals_as_ctrl_c,
)
from dris.core.errors import MEMORY, InputError, as_options, describe_error
from dris.core.sanitize import Printable, printable, under

# How torch, threads and forks word it, which raise no MemoryError.
_OUT_OF_MEMORY = re.compile(r"can't allocate memory|out of memory|can't start new thread", re.I)

_LITTLE_MEMORY = 2 << 30  # bytes of address space
_DATA = (".csv", ".tsv", ".parquet", ".jsonl", ".xlsx", ".npz", ".npy")  # how files of data end

GROUPS = {
    "Your data": ("clean", "check", "review", "prune", "weights", "audit", "rules"),
    "A closer look": ("corrupt", "certify"),
    "Scale": ("rank", "runs"),
}
_CHECKED = ("canaries", "matrix", "at_most", "skip_harm_check")
_WHERE = ("workers", "device", "engine", "address", "cpus", "gpus", "store")
_WRITTEN = ("out", "force", "verbose", "quiet", "as_json", "config")
# By the name of the parameter; what is not here is the command's own and comes first.
PANELS = {
    "The data": READING,
    "Proxies": tuple(n for n in DECIDING if n not in (*_CHECKED, *_WHERE, *_WRITTEN)),
    "What is checked": _CHECKED,
    "Where it runs": _WHERE,
    "What is written": _WRITTEN,
}
_OWN, _MORE = "Options", "More"
MAX_EXPLAINED = 20  # with more, help explains the command's own options and these
_EVERYDAY = ("label", "id", "group", "trusted", "features", "without", *_WRITTEN)
MISTAKE = 3  # where 1 and 2 are answers


class GroupedHelp(TyperGroup):
    """A command with commands, which its help lists by what they are for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Suggest the command where a file is typed in its place."""
        typed = args[0] if args else ""
        there = os.path.exists(typed)
        named = typed.lower().endswith(_DATA)
        if ctx.parent is None and typed not in self.commands and (there or named):
            from dris.data.files import nearest_file

            meant = typed if there else nearest_file(Path(typed)) or typed
            ctx.fail(f"{typed} is no command; did you mean dris clean {meant}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section per group, and one for what is in none."""
        shown = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        for title, names in sort_into(shown, GROUPS, _MORE if ctx.parent is None else "Commands"):
            lines = [(name, summarize(self.commands[name].help or "")) for name in names]
            with formatter.section(title):
                formatter.write_dl(lines)


def summarize(text: str) -> str:
    r"""What a command does: its first sentence, up to a colon.

    >>> summarize("Drop what looks wrong, and only that: OUT/cleaned.*.\n\nMore of it.")
    'Drop what looks wrong, and only that.'
    """
    first = " ".join(text.partition("\n\n")[0].split())
    return first.partition(": ")[0].rstrip(".") + "."


class PanelledHelp(TyperCommand):
    """A command whose help lists the options by what they are about, all with --verbose."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse what was typed; with --help, --verbose is about the help."""
        ctx.meta["whole help"] = "--verbose" in args
        if {"-h", "--help"} & set(args):
            args = ["--help"]
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what the command does; every format that it reads, from the registry."""
        if self.help and "FORMATS" in self.help:
            from dris.data.formats import FORMATS

            *first, last = (entry.title for entry in FORMATS)
            listed = f"DATA is {', '.join(first)} or {last}."
            self.help = self.help.replace("FORMATS", listed)
        super().format_help_text(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section per panel, the command's own options first."""
        records = {
            str(p.name): line for p in self.get_params(ctx) if (line := p.get_help_record(ctx))
        }
        whole, named = ctx.meta["whole help"] or len(records) <= MAX_EXPLAINED, []
        *panels, own = sort_into(records, PANELS, _OWN)  # --help is in no panel
        for title, every in (own, *panels):
            shown = [name for name in every if whole or title == _OWN or name in _EVERYDAY]
            named += [records[name][0].split()[0] for name in every if name not in shown]
            if shown:
                with formatter.section(title):
                    formatter.write_dl([records[name] for name in shown])
        if named:
            with formatter.section(f"More, explained by {ctx.command_path} --help --verbose"):
                space = formatter.width - formatter.current_indent
                for part in textwrap.wrap(" ".join(named), space, break_on_hyphens=False):
                    formatter.write(f"{'':{formatter.current_indent}}{part}\n")


class AnsweringCommand(PanelledHelp):
    """A command whose exit codes 0 to 2 are answers: a mistake has one of its own."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Parse what was typed."""
        try:
            return super().make_context(*args, **more)
        except Exception as error:
            if getattr(error, "exit_code", None) == 2:  # wrong usage
                error.exit_code = MISTAKE  # type: ignore[attr-defined]
            raise


def sort_into(
    names: Iterable[str], groups: Mapping[str, tuple[str, ...]], rest: str
) -> Iterator[tuple[str, list[str]]]:
    """The groups that have any of the names, each in its own order; what is in none comes last."""
    there = list(names)
    for title, members in groups.items():
        if present := [name for name in members if name in there]:
            yield title, present
    listed = {name for members in groups.values() for name in members}
    if left := [name for name in there if name not in listed]:
        yield rest, left


app = typer.Typer(
    cls=GroupedHelp,
    help="Find the labels that are wrong, drop or correct only those, and measure what that "
    "changes.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # a line per option: the help of each command fits a screen
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(asked: bool) -> None:
    if asked:
        from dris import __version__

        typer.echo(f"dris {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error happened; may stand anywhere.")
    ] = False,
) -> None:
    pass


@app.command()
def certify(
    n: Annotated[int, option("N", "N, training examples.")] = 50_000,
    k: Annotated[int, option("K", "K, proxies.")] = 3,
    delta: Annotated[float, option("P", "δ, allowed failure probability.")] = 0.05,
    tau: Annotated[float, option("X", "τ: bulk corrupted ranks reach 1 − τ.")] = 0.1,
    gamma: Annotated[float, option("P", "γ: ... but for this probability.")] = 0.001,
    tau_bdry: Annotated[float, option("X", "τ_bdry: least deviation of boundary ranks.")] = 0.1,
    boundary: Annotated[int, option("N", "Number of boundary examples.")] = 7_500,
    keep: Annotated[float, option("SHARE", "α, keep fraction.")] = 0.25,
    epsilon: Annotated[float, option("SHARE", "ε, corrupted fraction.")] = 0.25,
    alpha_trim: Annotated[float, option("SHARE", "α_trim, share outside the bulk.")] = 0.1,
    v_tail: Annotated[float, option("X", "Mean rank variance of that share.")] = 0.05,
    different_models: Annotated[
        bool, flag("--different-models", "The proxies are of different kinds, not one i.i.d. draw.")
    ] = False,
    rank_error: Annotated[float, option("X", "e: how far ranks may be off (see dris rank).")] = 0.0,
) -> None:
    """Say what Theorem 1 certifies at these numbers, and what it would take.

    Example: dris certify --n 50000 --k 3 --keep 0.25 --epsilon 0.25
    """
    numbers = {name: value for name, value in locals().items() if name != "different_models"}
    from dris.core.certify.separation import certify as evaluate

    output = Output()
    for line in str(evaluate(**numbers, identical=not different_models)).splitlines():
        output.say(line, whole=line.startswith("  "))


@app.command()
def runs(
    store: Annotated[Path | None, option("FOLDER", "The store; DRIS_STORE or the cache.")] = None,
    clean: Annotated[
        bool, flag("--clean", "Remove damaged runs, other formats and leftovers.")
    ] = False,
    unfinished: Annotated[
        bool, flag("--unfinished", "With --clean: also runs that were cut short.")
    ] = False,
) -> None:
    """List the kept training runs with their size and state, or clean them up.

    Example: dris runs --store runs --clean
    """
    from rich.console import Console
    from rich.table import Table

    from dris.learn.store.run_store import Store

    held = Store(store)
    # Takes no word for a mark-up, a face or a number to be coloured.
    page = Console(file=under(sys.stdout), markup=False, emoji=False, highlight=False)
    if clean:
        gone = held.clean(unfinished=unfinished)
        page.print(f"removed {len(gone.removed)} ({_size(gone.bytes)})")
    for name in held.foreign():
        page.print(
            f"{printable(held.root / name)} holds what no run of dris wrote, and stays as it is; "
            "move it away if it does not belong there",
            soft_wrap=True,
        )
    table = Table("run", "what", "state", "epoch", "size", "last written", box=None)
    for info in held.runs():
        what = "unknown"
        if info.key is not None:  # the whole key is in the run's key.json
            stream = " ".join(map(str, info.key.get("stream", [])))
            what = f"{info.key.get('model', '?')}, {stream}, seed {info.key.get('seed', '?')}"
        epoch = "" if info.epoch is None else str(info.epoch)
        numbers = (info.state, epoch, _size(info.bytes), _ago(info.age))
        table.add_row(info.name[:8], printable(what), *numbers)
    if table.row_count:
        page.print(table)
    else:
        page.print(f"no runs in {printable(held.root)}", soft_wrap=True)


def _size(count: float) -> str:
    """Bytes in a unit that a person reads: 999 B, 34.0 MB."""
    unit, *larger = ("B", "kB", "MB", "GB", "TB")
    while count >= 1000 and larger:
        count, unit = count / 1000, larger.pop(0)
    return f"{count:.{0 if unit == 'B' else 1}f} {unit}"


def _ago(seconds: float) -> str:
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} seconds ago"


for verb in (data.clean, data.prune, data.weights):
    app.command()(takes(verb, *READING, *DECIDING))
app.command()(data.rules)
app.command()(takes(data.review, *READING, *data.REVIEWING, "out", "force", "as_json"))
app.command()(takes(data.corrupt, *READING, "matrix", "seed", "force", "as_json"))
app.command()(takes(data.rank, *data.RANKING))
data.audit.command()(takes(data.draw, *READING, "seed", "force", "as_json"))
data.audit.command()(takes(data.read, "as_json"))
app.add_typer(data.audit, name="audit")
for each in (app, data.audit):
    for command in each.registered_commands:
        command.cls = PanelledHelp
app.command(cls=AnsweringCommand)(takes(data.check, *READING, *data.CHECKING))


def main() -> None:
    """Run `dris`."""
    guarded_main(app)


def guarded_main(app: typer.Typer, name: str = "dris") -> None:
    """Run a command; a broken rule is one sentence and exit code 1, never a traceback."""
    open_closed_streams()
    for stream in (sys.stdout, sys.stderr):  # δ and ± on a pipe that knows neither become "?"
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    debug = "--debug" in sys.argv[1:]
    sys.argv[1:] = [word for word in sys.argv[1:] if word != "--debug"]
    warn_of_little_memory(name)
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = Printable(streams[0]), Printable(streams[1])
    try:
        with signals_as_ctrl_c(), showing_notes():
            app(prog_name=name)
    except SystemExit as end:
        if end.code == 130:  # how typer ends on Ctrl-C
            typer.echo(f"{name}: interrupted", err=True)
        raise
    except Exception as error:
        if debug:
            raise
        code, sentence = _outcome(error)
        say_problem(f"{name}: {sentence}")
        answers = sys.argv[1:2] == ["check"]
        sys.exit(MISTAKE if answers and code == 1 else code)
    finally:
        sys.stdout, sys.stderr = streams


def warn_of_little_memory(name: str) -> None:
    """Say so where so little may be allocated that the libraries below end without a word."""
    try:
        import resource
    except ImportError:  # Windows
        return
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY and most < _LITTLE_MEMORY:
        typer.echo(
            f"{name}: this process may address {most >> 20:,} MB, and below 2,048 MB libraries may "
            "fail without a word; raise the limit with ulimit -v",
            err=True,
        )


def _outcome(error: Exception) -> tuple[int, str]:
    """The exit code and the one line for whatever went wrong."""
    behind: list[BaseException] = [error]
    while (next_ := behind[-1].__cause__ or behind[-1].__context__) and next_ not in behind:
        behind.append(next_)
    if any(isinstance(one, KeyboardInterrupt) for one in behind):
        return 130, "interrupted"  # Python wraps Ctrl-C while a class is made
    first = printable((str(error).splitlines() or [""])[0])
    if isinstance(error, InputError):
        return 1, printable(as_options(str(error)))
    if isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(first):
        return 1, f"out of memory{f' ({first})' if first else ''}; {as_options(MEMORY)}"
    if isinstance(error, OSError):
        return 1, printable(as_options(describe_error(error)))
    if isinstance(error, UnicodeError):  # only what others wrote is not text
        return 1, f"a file holds what is not text in UTF-8 ({first}); save it as UTF-8"
    return 70, f"{type(error).__name__}: {first} (--debug shows where)"
