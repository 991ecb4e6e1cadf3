"""A run's options as a small TOML file: every run writes one, `--config` takes one."""

import json
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from dris.core.errors import InputError

_ABOUT = ("dris", "command")  # what a recipe says of itself
_NOT_KEPT = ("force", "verbose", "quiet", "as_json", "config")  # of the moment, not of the result
_TYPED = {"records": "from", "form": "as", "tool": "as", "take": "import", "give": "export"}


def recipe_text(command: str, options: Mapping[str, Any], path: Path) -> str:
    """The options of a run as TOML; what has no value is left out.

    >>> print(recipe_text("clean", {"label": "y", "seed": 0, "id": None}, Path("clean.toml")))
    # To do it again: dris clean --config clean.toml
    dris = "0.1.0"
    command = "clean"
    label = "y"
    seed = 0
    <BLANKLINE>
    """
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


def read_recipe(path: Path, known: set[str], command: str | None) -> dict[str, Any]:
    """The options in a file, by their names; what this command cannot take is an error."""
    from dris.core.sanitize import printable

    values = _values_in(path)
    theirs = printable(str(values.get("command", command)))
    if theirs != command:
        raise InputError(
            f"--config {path} is the recipe of dris {theirs}; type dris {theirs} --config {path}, "
            "or take the line of its command out"
        )
    names = {typed: name for name, typed in _TYPED.items() if name in known}
    options = {
        names.get(name, name.replace("-", "_")): value
        for name, value in values.items()
        if name not in _ABOUT
    }
    for name, value in options.items():
        if isinstance(value, dict):
            raise InputError(f"--config {path}: [{name}] is a table; options stand at the top")
        if name not in known:
            near = get_close_matches(name, sorted(known), 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise InputError(f"--config {path}: this command has no option {name!r}{meant}")
    return options


def recipe_data(path: Path | None) -> list[Path]:
    """The data that a file names: not every version of typer takes those as defaults."""
    if path is None:
        return []
    data = _values_in(path).get("data", [])
    named = [data] if isinstance(data, str) else data
    if not isinstance(named, list) or not all(isinstance(one, str) for one in named):
        raise InputError(f"--config {path}: data must be the path of a file, or a list of paths")
    return [Path(one) for one in named]


def _values_in(path: Path) -> dict[str, Any]:
    from dris.core.sanitize import printable
    from dris.data.files import reading

    with reading(path, "file of options"):
        text = path.read_bytes()
    try:
        return tomllib.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(f"--config {path} is not TOML: it is no text") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"--config {path} is not TOML: {printable(error)}") from None


def _take(ctx: typer.Context, path: Path | None) -> Path | None:
    """Let a file give the defaults of what is not typed."""
    if path is not None and not ctx.resilient_parsing:
        recipe_data(path)
        parameters = ctx.command.params
        many = {str(p.name): p.nargs == -1 or getattr(p, "multiple", False) for p in parameters}
        options = read_recipe(path, many.keys() - set(_NOT_KEPT), ctx.command.name)
        typed = {name: _as_typed(path, name, value, many[name]) for name, value in options.items()}
        ctx.default_map = {**(ctx.default_map or {}), **typed}
    return path


def _as_typed(path: Path, name: str, value: Any, many: bool = False) -> Any:
    """A value as it would be typed, so that typer parses it: not every version does any other."""
    if many and isinstance(value, list):
        return [_as_typed(path, name, one) for one in value]
    if isinstance(value, bool):
        return value
    if isinstance(value, str | int | float):
        return str(value)
    raise InputError(f"--config {path}: {_TYPED.get(name, name)} must be a single value")


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        callback=_take,
        is_eager=True,
        help="Options as OUT/COMMAND.toml has them.",
    ),
]


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
