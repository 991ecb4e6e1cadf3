"""Run experiments and write their pages: what `python -m experiments NAME` does, as a function."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dris import InputError
from experiments.costs import Cost, cost_of
from experiments.dris_internals import OWN, Engine, Progress
from experiments.records import Records, gather, read_records
from experiments.registry import EXPERIMENTS, Experiment, experiment_of
from experiments.results.claims import Claim
from experiments.results.pages import page_files, write_page
from experiments.results.tally import INDEX, write_index
from experiments.runner import Adopted, Record, adopt, missing, run
from experiments.scales import Scale, scale_of
from experiments.spec import Cell, Noise
from experiments.workspace import Workspace

Cells = dict[str, list[Cell]]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cells of an experiment are run.

    Attributes:
        scale: "smoke" (seconds), "cpu", "mid" or "paper".
        seeds: Seeds of every cell; the scale's own number unless given.
        data: Only these data sets, each a name or name:examples.
        rules: Only these rules; "default" is the gated one.
        noises: Only these, "clean" or such as "uniform:0.1".
        examples: Draw so many training examples.
        backbone: Other frozen features, as module:function.
        paper_only: Leave out what the paper does not have.
    """

    scale: str = "cpu"
    seeds: int | None = None
    data: Sequence[str] = ()
    rules: Sequence[str] = ()
    noises: Sequence[str] = ()
    examples: int | None = None
    backbone: str | None = None
    paper_only: bool = False

    @property
    def size(self) -> Scale:
        """The scale with its seeds."""
        return scale_of(self.scale, self.seeds)

    def cells(self, experiment: Experiment) -> list[Cell]:
        """The selected cells of an experiment, each once.

        >>> some = Selection("smoke", rules=["aum"], noises=["clean"])
        >>> [cell.seed for cell in some.cells(EXPERIMENTS["pruning"])]
        [0, 1]
        """
        cells = experiment.cells(self.size)
        rules = ["gated" if rule == "default" else rule for rule in self.rules]
        for what, wanted, names in (
            ("data", self.data, _data_names),
            ("rule", rules, lambda cell: (cell.rule,)),
            ("noise", self.noises, lambda cell: (_noise_name(cell.noise),)),
        ):
            cells = _only(cells, what, wanted, names)
        cells = [self._redrawn(cell) for cell in cells]
        if self.paper_only:
            cells = experiment.printed_cells(cells)
        return list(dict.fromkeys(cells))

    def _redrawn(self, cell: Cell) -> Cell:
        source = cell.source
        if self.examples is not None:
            source = replace(source, examples=self.examples)
        if self.backbone is not None and source.backbone is not None:
            source = replace(source, backbone=self.backbone)
        return replace(cell, source=source)


def _only(
    cells: list[Cell], what: str, wanted: Sequence[str], names: Callable[[Cell], Sequence[str]]
) -> list[Cell]:
    known = dict.fromkeys(name for cell in cells for name in names(cell))
    if unknown := [name for name in wanted if name not in known]:
        raise InputError(f"{what} must be one of {', '.join(known)}, got {unknown[0]!r}")
    return [cell for cell in cells if not wanted or any(n in wanted for n in names(cell))]


def _data_names(cell: Cell) -> tuple[str, str]:
    source = cell.source
    return source.name, f"{source.name}:{source.examples or 'all'}"


def _noise_name(noise: Noise) -> str:
    return noise.kind if noise.kind == "clean" else f"{noise.kind}:{noise.rate:g}"


@dataclass(frozen=True, slots=True)
class Machine:
    """Where cells run.

    Attributes:
        workers: Processes; all cores unless given.
        device: "cpu", "cuda" for every GPU, or "cuda:1".
        engine: "local", or an engine of a Ray cluster.
        data_dir: Where data sets lie; DRIS_DATA or the user's cache unless given.
    """

    workers: int | None = None
    device: str = "cpu"
    engine: Engine | str = "local"
    data_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The selected cells by experiment, and all that each experiment has."""

    selection: Selection
    cells: Cells
    whole: Cells

    @property
    def every(self) -> list[Cell]:
        """The selected cells of all experiments, shared ones once."""
        return list(dict.fromkeys(cell for part in self.cells.values() for cell in part))

    def costs(self, out: Path, device: str = "cpu") -> dict[str, Cost]:
        """What each experiment would cost by what is finished in `out`, and "in all" of them."""
        folder = out / self.selection.scale
        result = {
            name: cost_of(part, folder, device=device, like=self.whole[name])
            for name, part in self.cells.items()
        }
        like = [cell for part in self.whole.values() for cell in part]
        return {**result, "in all": cost_of(self.every, folder, device=device, like=like)}

    def adopt(self, known: Path, out: Path) -> Adopted:
        """Take finished cells from the records of any experiment in `known`."""
        paths = [path for name in EXPERIMENTS if (path := known / f"{name}.json").is_file()]
        if not paths:
            names = ", ".join(f"{name}.json" for name in self.cells)
            raise InputError(f"{known} has none of {names}; name a folder of records")
        every = list(dict.fromkeys([*self.every, *(c for p in self.whole.values() for c in p)]))
        folder = out / self.selection.scale
        parts = [adopt(every, read_records(path), folder) for path in paths]
        otherwise = sum((Counter(part.otherwise) for part in parts), Counter[str]())
        return Adopted(sum(part.cells for part in parts), dict(otherwise))


def plan_of(names: Sequence[str], selection: Selection) -> Plan:
    """The cells of experiments by name.

    >>> len(plan_of(["table1"], Selection("smoke")).every)
    56
    """
    wanted = list(dict.fromkeys(experiment_of(name) for name in names))
    if not wanted:
        raise InputError(f"name an experiment: {', '.join(EXPERIMENTS)}")
    return Plan(
        selection,
        {one.name: selection.cells(one) for one in wanted},
        {one.name: one.cells(selection.size) for one in wanted},
    )


@dataclass(frozen=True, slots=True)
class Reproduced:
    """What came out: a page and the claims for each experiment with a finished cell."""

    index: Path
    pages: Mapping[str, Path] = field(default_factory=dict)
    claims: Mapping[str, Sequence[Claim]] = field(default_factory=dict)


def reproduce(
    names: Sequence[str],
    selection: Selection | None = None,
    *,
    out: Path = Path("reproduced"),
    machine: Machine | None = None,
    records: Path | None = None,
    run_missing: bool = True,
    progress: Progress | None = None,
) -> Reproduced:
    """Run what is missing of experiments and write their pages to OUT/SCALE/results.

    Killed, the same call goes on: finished cells are read back.

    Args:
        names: Experiments, by name or place in the paper.
        selection: The scale, and which cells of it.
        out: Folder for runs, records and pages.
        machine: Where it runs.
        records: A folder of compact records to write the pages from; nothing is run.
        run_missing: Whether cells without a record are run; else pages show what is finished.
        progress: Called with (cells done, cells in all).
    """
    plan = plan_of(names, Selection() if selection is None else selection)
    folder = out / plan.selection.scale
    results = folder / "results"
    sources = {} if records is None else {name: records / f"{name}.json" for name in plan.cells}
    writer = OWN.reading(*sources.values())
    written = [path for name in plan.cells for path in page_files(name, results)]
    if not sources:
        written += [results / f"records/{name}.json" for name in plan.cells]
    writer.refuse(*written, results / INDEX)  # before the cells run
    if sources:
        rows = {name: read_records(path) for name, path in sources.items()}
    else:
        machine = Machine() if machine is None else machine
        rows = _run(plan, folder, machine, progress, run_missing=run_missing)
    pages = {name: write_page(name, one, results, writer=writer) for name, one in rows.items()}
    claims = {name: EXPERIMENTS[name].claims(one) for name, one in rows.items()}
    return Reproduced(write_index(results, plan.selection.scale, writer=writer), pages, claims)


def _run(
    plan: Plan, folder: Path, machine: Machine, progress: Progress | None, *, run_missing: bool
) -> dict[str, Records]:
    """The records of every experiment that has a finished cell, after running what is missing."""
    absent = set() if run_missing else set(missing(plan.every, folder))
    wanted = [cell for cell in plan.every if cell not in absent]
    workspace = Workspace(folder / "runs", machine.data_dir, machine.device)
    done = run(
        wanted,
        out=folder,
        workspace=workspace,
        workers=machine.workers,
        progress=progress,
        engine=machine.engine,
    )
    by_cell: dict[Cell, Record] = dict(zip(wanted, done, strict=True))
    rows = {}
    for name, cells in plan.cells.items():
        if mine := [by_cell[cell] for cell in cells if cell in by_cell]:
            rows[name] = gather(name, plan.selection.scale, mine, len(plan.whole[name]))
    return rows
