"""The kept runs as a table, which `dris runs` prints."""

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dris.core.sanitize import printable, under
from dris.learn.store.run_store import RunInfo, Store


def show_runs(folder: Path | None, *, clean: bool, unfinished: bool) -> None:
    """List the runs, after removing what is asked to go."""
    store = Store(folder)
    # Takes no word for a mark-up, a face or a number to be coloured.
    page = Console(file=under(sys.stdout), markup=False, emoji=False, highlight=False)
    if clean:
        gone = store.clean(unfinished=unfinished)
        page.print(f"removed {len(gone.removed)} ({size_of(gone.bytes)})")
    for name in store.foreign():
        page.print(
            f"{printable(store.root / name)} holds what no run of dris wrote, and stays as it is; "
            "move it away if it does not belong there",
            soft_wrap=True,
        )
    runs = store.runs()
    if not runs:
        page.print(f"no runs in {printable(store.root)}", soft_wrap=True)
        return
    table = Table("run", "what", "state", "epoch", "size", "last written", box=None)
    for info in runs:
        table.add_row(
            info.name[:8],
            _what(info),
            info.state,
            "" if info.epoch is None else str(info.epoch),
            size_of(info.bytes),
            _ago(info.age),
        )
    page.print(table)


def size_of(count: float) -> str:
    """Bytes in a unit that a person reads: 999 B, 34.0 MB."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 1000:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} TB"


def _what(info: RunInfo) -> str:
    """Model, role and seed; the whole key is in the run's key.json."""
    if info.key is None:
        return "unknown"
    stream = " ".join(map(str, info.key.get("stream", [])))
    text = f"{info.key.get('model', '?')}, {stream}, seed {info.key.get('seed', '?')}"
    return printable(text)


def _ago(seconds: float) -> str:
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} seconds ago"
