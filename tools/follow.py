"""Follow pages to the letter with an installed package: the first page of the site, the README.

    make follow                                       # the wheel in an empty environment
    python tools/follow.py docs/index.md README.md    # the dris of this interpreter

Every block of Python is saved and run, every command that a page types or says to print something
is typed, in the order of the page, in one empty folder; what they print must be what the page
shows. Numbers may differ by a tenth or three units, since BLAS builds differ in the last bits;
`...` stands for anything.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_STEP = re.compile(
    r"```python\n(?P<code>(?:(?!```)[\s\S])*)```(?:\n\nprints\n\n```\n(?P<prints>(?:(?!```)[\s\S])*)```)?"
    r"|^    \$ (?P<typed>dris .+)\n(?P<below>(?:    (?!\$).*\n|\n(?=    (?!\$)))*)"
    r"|^    (?P<named>dris .+)\n\n.* prints\n\n(?P<after>(?:    (?!\$).*\n|\n(?=    (?!\$)))+)",
    re.M,
)
_TOKEN = re.compile(r"(\d+\.\d+|\d+|\.\.\.|\s+)")
_SAVED = re.compile(r"[Ss]ave this as `([\w.]+)`")
MADE_BEFORE = {"README.md": "examples/quickstart_data.py"}  # the file of the reader's own


@dataclass(frozen=True)
class Step:
    """A file to run or a command to type, and what the page says it prints."""

    code: str | None
    command: str
    shown: str | None


def steps(page: str) -> list[Step]:
    r"""What a page has its reader do, in its order.

    >>> page = "Save this as `a.py`.\n\n```python\nprint(1)\n```\n\n    $ dris rules\n    lean\n"
    >>> [(step.command, step.shown) for step in steps(page)]
    [('a.py', None), ('dris rules', '    lean\n')]
    """
    found = []
    for match in _STEP.finditer(page):
        if match["code"] is not None:
            name = _SAVED.findall(page[: match.start()].rpartition("```")[2])
            found.append(Step(match["code"], (name or ["example.py"])[-1], match["prints"]))
        else:
            command = match["typed"] or match["named"]
            found.append(Step(None, command, match["below"] or match["after"]))
    return found


def alike(ours: str, shown: str) -> bool:
    """Same words; numbers within a tenth or three units; `...` stands for anything.

    >>> alike("keeps 449, 8.7 %", "keeps 449, 9.9 %"), alike("drops 449", "keeps 449")
    (True, False)
    >>> alike("keeps 449, 8.7 %", "keeps 449, 30.0 %"), alike("keeps 449, if", "keeps 449 ...")
    (False, False)
    """
    pattern, wanted = "", []
    for part in _TOKEN.split(shown.strip()):
        if part[:1].isdigit():
            pattern += r"(\d+\.\d+|\d+)"
            wanted.append(float(part))
        elif part == "...":
            pattern += r".*?"
        else:
            pattern += r"\s+" if part.isspace() else re.escape(part)
    found = re.fullmatch(pattern, ours.strip(), re.S)
    if found is None:
        return False
    pairs = zip(map(float, found.groups()), wanted, strict=True)
    return all(abs(a - b) <= max(3, 0.1 * b) for a, b in pairs)


def follow(page: Path, folder: Path) -> list[str]:
    """Do what a page says, in a folder; what went otherwise, a sentence each."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["COLUMNS"] = "100"

    def ran(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
        )

    if page.name in MADE_BEFORE:
        ran(sys.executable, str(ROOT / MADE_BEFORE[page.name]), ".")
    wrong = []
    for step in steps(page.read_text(encoding="utf-8")):
        if step.code is not None:
            (folder / step.command).write_text(step.code, encoding="utf-8")
            done = ran(sys.executable, step.command)
        else:
            program = Path(sys.executable).with_name("dris")
            done = ran(str(program), *shlex.split(step.command)[1:])
        if done.returncode:
            wrong.append(f"{page.name}: {step.command} ended with {done.returncode}: {done.stderr}")
        elif step.shown is not None and not alike(done.stdout, step.shown):
            wrong.append(f"{page.name}: {step.command} printed\n{done.stdout}\nnot\n{step.shown}")
    return wrong


if __name__ == "__main__":
    troubles, count = [], 0
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as empty:
            troubles += follow(ROOT / name, Path(empty))
        count += len(steps((ROOT / name).read_text(encoding="utf-8")))
    for trouble in troubles:
        print(trouble, file=sys.stderr)
    print(f"{count} steps, {len(troubles)} not as the page says")
    raise SystemExit(bool(troubles))
