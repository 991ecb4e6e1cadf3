"""How help reads, and what a mistyped command suggests: groups, panels, one line an option."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

from dris.cli.data_options import DECIDING, READING

GROUPS = {
    "Your data": ("clean", "review", "prune", "weights", "audit", "rules"),
    "A closer look": ("corrupt", "certify"),
    "Scale": ("rank", "runs"),
}
_CHECKED = ("canaries", "matrix", "at_most", "skip_harm_check")
_WHERE = ("workers", "device", "engine", "address", "cpus", "gpus", "store")
_WRITTEN = ("out", "force", "verbose", "as_json", "config")
# By the name of the parameter; what is not here is the command's own and comes first.
PANELS = {
    "The data": READING,
    "Proxies": tuple(n for n in DECIDING if n not in (*_CHECKED, *_WHERE, *_WRITTEN)),
    "What is checked": _CHECKED,
    "Where it runs": _WHERE,
    "What is written": _WRITTEN,
}
_OWN, _MORE = "Options", "More"


class GroupedHelp(TyperGroup):
    """A command with commands, which its help lists by what they are for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Suggest the command where a file is typed in its place."""
        typed = args[0] if args else ""
        if ctx.parent is None and typed not in self.commands and _is_data(typed):
            ctx.fail(f"{typed} is no command; did you mean dris clean {_near_file(typed)}?")
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


def _is_data(typed: str) -> bool:
    """True for a file or folder that is there, or one that could hold data by its name."""
    suffixes = (".csv", ".tsv", ".parquet", ".jsonl", ".xlsx", ".npz", ".npy")
    return os.path.exists(typed) or typed.lower().endswith(suffixes)


def _near_file(typed: str) -> str:
    """The file of that name, or the one that was probably meant."""
    from dris.data.files import nearest_file

    return typed if os.path.exists(typed) else str(nearest_file(Path(typed)) or typed)


class PanelledHelp(TyperCommand):
    """A command whose help lists the options by what they are about."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what the command does; every format that it reads, from the registry."""
        if "FORMATS" in (self.help or ""):
            from dris.data.formats import FORMATS

            *first, last = (entry.title for entry in FORMATS)
            listed = f"DATA is {', '.join(first)} or {last}."
            self.help = (self.help or "").replace("FORMATS", listed)
        super().format_help_text(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section per panel, the command's own options first."""
        records = {
            str(p.name): line for p in self.get_params(ctx) if (line := p.get_help_record(ctx))
        }
        sections = dict(sort_into(records, PANELS, _OWN))
        for title in (_OWN, *PANELS):
            if title in sections:
                with formatter.section(title):
                    formatter.write_dl([records[name] for name in sections[title]])


def sort_into(
    names: Iterable[str], groups: Mapping[str, tuple[str, ...]], rest: str
) -> Iterator[tuple[str, list[str]]]:
    """The groups that have any of the names, each in its own order; what is in none comes last.

    >>> list(sort_into(["b", "c", "a"], {"first": ("a", "b")}, "more"))
    [('first', ['a', 'b']), ('more', ['c'])]
    """
    there = list(names)
    for title, members in groups.items():
        if present := [name for name in members if name in there]:
            yield title, present
    listed = {name for members in groups.values() for name in members}
    if left := [name for name in there if name not in listed]:
        yield rest, left
