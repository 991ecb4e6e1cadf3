"""Run cells: what is shared trains once, what is finished is read back, what was killed goes on.

A cell's result is one JSON record named by its key, `records/<key>.json`, with what it was made by
(`made_with`); how long it took lies beside it, in `records/<key>.time.json`.
"""

import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments.dris_internals import (
    Engine,
    Progress,
    as_engine,
    devices_of,
    from_json,
    keep_freed_memory,
    make_folder,
    reading,
    remove_left,
    run_all,
    scratch,
    write_atomically,
)
from experiments.kinds.shared import Finding, Findings
from experiments.provenance import differences, made_with
from experiments.records import Records
from experiments.spec import Cell
from experiments.workspace import Workspace

Record = dict[str, Any]
KINDS = {
    "ensemble": "experiments.kinds.ensemble_cell",
    "static": "experiments.kinds.static_cell",
    "food": "experiments.kinds.food_cell",
    "future_work": "experiments.kinds.future_work_cell",
    "memory": "experiments.kinds.memory_cell",
    "online": "experiments.kinds.online_cell",
    "theorems": "experiments.kinds.theorems_cell",
    "proxytypes": "experiments.kinds.proxytypes_cell",
    "steps": "experiments.kinds.steps_cell",
    "synthetic": "experiments.kinds.synthetic_cell",
    "verdict": "experiments.kinds.verdict_cell",
}


def run(
    cells: Sequence[Cell],
    *,
    out: Path,
    workspace: Workspace,
    workers: int | None = None,
    progress: Progress | None = None,
    engine: Engine | str = "local",
) -> list[Record]:
    """The records of all cells, in their order; only those without one are computed.

    On a Ray cluster every node must see `out`, the store and the data sets by the same paths.
    """
    # A node's task stands in a folder of its own.
    out, workspace = out.absolute(), workspace.absolute()
    folder = make_folder(out / "records")
    remove_left(folder)
    wanted = list(dict.fromkeys(cells))
    groups: dict[Any, list[Cell]] = {}
    for cell in missing(wanted, out):
        groups.setdefault(cell.group, []).append(cell)
    done = len(wanted) - sum(map(len, groups.values()))
    for cell in wanted:
        epochs = workspace.epochs_of(cell.key)
        if epochs.exists() and _path(folder, cell).exists():  # killed before they were removed
            with scratch(epochs):
                pass
    tasks = [([group], folder, workspace) for group in groups.values()]
    if workspace.device != "cpu" and as_engine(engine).name == "local":
        queues = lanes(list(groups.values()), devices_of(workspace.device))
        workers = len(queues) or 1  # a process for each GPU, however many cores there are
        tasks = [(queue, folder, replace(workspace, device=gpu)) for gpu, queue in queues.items()]
    if tasks:
        run_all(
            _groups,
            tasks,
            workers=workers,
            progress=progress and (lambda n, total: progress(done + n, len(wanted))),
            total=len(wanted) - done,
            engine=engine,
            folder=out,
        )
    return [read_record(folder, cell) for cell in cells]


def lanes(groups: Sequence[list[Cell]], devices: Sequence[str]) -> dict[str, list[list[Cell]]]:
    """One queue of groups for each GPU: all of a group, proxies and targets alike, is on it.

    So are other kinds of cells that share its proxies. What takes long is dealt out first, each to
    the queue that ends soonest.

    >>> lanes([], ["cuda:0"])
    {}
    """
    from experiments.costs import seconds_of  # which counts what is missing here

    shared: dict[Any, list[list[Cell]]] = {}
    for group in groups:
        shared.setdefault(group[0].group[1:], []).append(group)
    costs = {
        key: seconds_of([cell for group in mine for cell in group], devices[0])
        for key, mine in shared.items()
    }
    queues: dict[str, list[list[Cell]]] = {device: [] for device in devices}
    ends = dict.fromkeys(devices, 0.0)
    for key in sorted(shared, key=lambda key: -costs[key]):
        soonest = min(ends, key=lambda device: ends[device])
        queues[soonest] += shared[key]
        ends[soonest] += costs[key]
    return {device: queue for device, queue in queues.items() if queue}


def missing(cells: Sequence[Cell], out: Path) -> list[Cell]:
    """The cells that have no record yet."""
    return [cell for cell in cells if not _path(out / "records", cell).exists()]


@dataclass(frozen=True, slots=True)
class Adopted:
    """How many cells were taken over, and of how many what was made elsewhere in which way."""

    cells: int
    otherwise: dict[str, int]


def adopt(cells: Sequence[Cell], known: Records, out: Path) -> Adopted:
    """Take finished cells over from compact records, those that are new here.

    Numbers there have six digits. Rows from before records had keys are not taken, nor those of
    gates that another rule set.
    """
    folder = make_folder(out / "records")
    rows = {row["key"]: row for row in known.rows if "key" in row and "gate_set_by" not in row}
    taken = [cell for cell in missing(cells, out) if cell.key in rows]
    here, otherwise = made_with(), dict[str, int]()
    for cell in taken:
        row = rows[cell.key]
        made = row.get("made", {})
        _write(folder, Finding(cell, row["result"], row["seconds"]), made)
        for what in differences(made, here):
            otherwise[what] = otherwise.get(what, 0) + 1
    return Adopted(len(taken), otherwise)


def read_record(folder: Path, cell: Cell) -> Record:
    """A finished cell's record, with its seconds under "seconds"."""
    path = _path(folder, cell)
    beside = path.with_suffix(".time.json")
    with reading(path, "record of dris; remove it, and it is computed again"):
        record: Record = from_json(path.read_bytes())
        seconds = from_json(beside.read_bytes()) if beside.exists() else {}
    return {**record, "seconds": seconds}


def _groups(
    groups: Sequence[Sequence[Cell]], folder: Path, workspace: Workspace, tick: Callable[[], None]
) -> list[Record]:
    keep_freed_memory()  # one worker is this process, which nobody made fit for work
    if workspace.device != "cpu":
        use_gpu_fully(devices_of(workspace.device)[0])
    return [record for cells in groups for record in _group(cells, folder, workspace, tick)]


def use_gpu_fully(device: str) -> None:
    """Let this process, which trains on one GPU and does nothing else, take what it gives.

    The fastest convolutions are looked for (cuDNN's benchmark) and float32 products may be TF32;
    which of them is fastest is measured anew, so results may differ in their last digits from run
    to run.
    """
    import torch

    torch.cuda.set_device(device)  # whoever names no GPU means this one, as the clocks do
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")


def _group(
    cells: Sequence[Cell], folder: Path, workspace: Workspace, tick: Callable[[], None]
) -> list[Record]:
    kind: Findings = importlib.import_module(KINDS[cells[0].kind]).findings
    for finding in kind(cells, workspace):
        _write(folder, finding)
        tick()
    return [read_record(folder, cell) for cell in cells]


def _write(folder: Path, finding: Finding, made: dict[str, str] | None = None) -> None:
    """The seconds first: a record that is there has them."""
    path = _path(folder, finding.cell)
    record = {
        "cell": finding.cell.content,
        "result": finding.result,
        "made": made_with() if made is None else made,
    }
    seconds = (json.dumps(finding.seconds) + "\n").encode()
    write_atomically(path.with_suffix(".time.json"), [seconds])
    write_atomically(path, [(json.dumps(record, indent=1) + "\n").encode()])


def _path(folder: Path, cell: Cell) -> Path:
    return folder / f"{cell.key}.json"
