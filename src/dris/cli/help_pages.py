"""How help reads: commands in groups, options in panels, a line each, in plain text."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup

from dris.core.select.rule_parameters import PARAMETERS

GROUPS = {
    "Your data": ("clean", "review", "prune", "weights", "report", "judge", "audit", "rules"),
    "A closer look": ("score", "trial", "corrupt"),
    "Scale": ("rank", "runs"),
    "The paper": ("demo", "reproduce", "certify", "data"),
}
# By the name of the parameter; what is not here is the command's own and comes first.
PANELS = {
    "The data": (
        *("data", "label", "id", "trusted", "features", "without", "missing", "text"),
        *("merge_spellings", "no_label", "image_size"),
    ),
    "Proxies": (
        "records",
        "proxies",
        "epochs",
        "folds",
        "scored_epoch",
        "model",
        "encoder",
        "seed",
    ),
    "The rule's parameters": tuple(PARAMETERS),
    "What is checked": ("canaries", "matrix", "at_most", "no_harm"),
    "Where it runs": ("workers", "device", "engine", "address", "cpus", "gpus", "store"),
    "What is written": ("out", "force", "as_json", "config"),
}
_OWN, _MORE = "Options", "More"


class GroupedHelp(TyperGroup):
    """A command with commands, which its help lists by what they are for."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section per group, and one for what is in none."""
        shown = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        for title, names in sorted_into(shown, GROUPS, _MORE if ctx.parent is None else "Commands"):
            lines = [(name, in_a_line(self.commands[name].help or "")) for name in names]
            with formatter.section(title):
                formatter.write_dl(lines)


def in_a_line(text: str) -> str:
    r"""What a command does, without what it writes: its first sentence up to the colon, whole.

    >>> in_a_line("Drop what looks wrong, and only that: OUT/cleaned.*.\n\nMore of it.")
    'Drop what looks wrong, and only that.'
    """
    first = " ".join(text.partition("\n\n")[0].split())
    return first.partition(": ")[0].rstrip(".") + "."


class PanelledHelp(TyperCommand):
    """A command whose help lists the options by what they are about."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section per panel, the command's own options first."""
        records = {
            str(p.name): found for p in self.get_params(ctx) if (found := p.get_help_record(ctx))
        }
        sections = dict(sorted_into(records, PANELS, _OWN))
        for title in (_OWN, *PANELS):
            if title in sections:
                with formatter.section(title):
                    formatter.write_dl([records[name] for name in sections[title]])


def sorted_into(
    names: Iterable[str], groups: Mapping[str, tuple[str, ...]], rest: str
) -> Iterator[tuple[str, list[str]]]:
    """The groups that have any of the names, each in its own order; what is in none comes last.

    >>> list(sorted_into(["b", "c", "a"], {"first": ("a", "b")}, "more"))
    [('first', ['a', 'b']), ('more', ['c'])]
    """
    there = list(names)
    for title, members in groups.items():
        if found := [name for name in members if name in there]:
            yield title, found
    listed = {name for members in groups.values() for name in members}
    if left := [name for name in there if name not in listed]:
        yield rest, left
