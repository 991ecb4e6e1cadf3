"""`dris reproduce`: the paper's tables and figures, one command each."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dris.cli import options as o
from dris.cli.data_options import again, engine_of
from dris.cli.output import Talk

if TYPE_CHECKING:
    from dris.learn.engines.engine import Engine
    from experiments.cell_data import Place
    from experiments.runner import Record
    from experiments.spec import Cell


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(reproduce)


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Experiments; see --list.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All experiments.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
    scale: Annotated[
        str, typer.Option(help="smoke (seconds), cpu, mid or paper (a GPU).", metavar="SCALE")
    ] = "cpu",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds of every cell.", metavar="N")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="Only this data set; may be repeated.", metavar="NAME")
    ] = None,
    rule: Annotated[
        list[str] | None, typer.Option(help="Only this rule; may be repeated.", metavar="NAME")
    ] = None,
    noise: Annotated[
        list[str] | None,
        typer.Option(help="Only clean, or such as uniform:0.1; may be repeated.", metavar="NOISE"),
    ] = None,
    examples: Annotated[
        int | None, typer.Option(min=1, help="Draw so many training examples.", metavar="N")
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(help="Other frozen features.", metavar="MODULE:FUNCTION"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the cells and what they would cost.")
    ] = False,
    records: Annotated[
        Path | None,
        typer.Option(help="Write tables from these records; run nothing.", metavar="FOLDER"),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(help="Take finished cells from these records.", metavar="FOLDER"),
    ] = None,
    finished: Annotated[
        bool, typer.Option("--finished", help="Write pages of what is finished; run nothing.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for what is written.", metavar="FOLDER")] = Path(
        "reproduced"
    ),
    data_dir: Annotated[
        Path | None, typer.Option(help="Where data sets lie; DRIS_DATA or the user cache.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:1.")] = "cpu",
    compiled: Annotated[bool, typer.Option("--compile", help="Compile networks on a GPU.")] = False,
    paper_only: Annotated[
        bool, typer.Option("--paper-only", help="Leave out rows that the paper does not have.")
    ] = False,
    workers: o.Workers = None,
    engine: o.EngineName = "local",
    address: o.Address = None,
    cpus: o.Cpus = 1,
    gpus: o.Gpus = 0,
    as_json: o.AsJson = False,
) -> None:
    """Reproduce tables and figures of the paper, claims checked one by one.

    Pages go to OUT/SCALE/results. Interrupted, the same command goes on.
    Example: dris reproduce pruning --scale smoke --out reproduced
    """
    from dris.core.errors import InputError
    from dris.data.writer import OWN
    from experiments.cell_data import Place
    from experiments.experiment import EXPERIMENTS, as_printed, experiment_of, narrowed
    from experiments.records import gather, read_records
    from experiments.results.pages import page_files, write_page
    from experiments.results.tally import INDEX, claim_lines, write_index
    from experiments.scales import scale_of

    talk = Talk(as_json=as_json)
    if listed:
        width = max(map(len, EXPERIMENTS))
        for name, what in EXPERIMENTS.items():
            talk.say(f"{name:{width}}  {what}")
        return talk.result({"command": "reproduce", "experiments": EXPERIMENTS})
    wanted = list(EXPERIMENTS) if everything else list(dict.fromkeys(names or []))
    if not wanted:
        raise InputError("name an experiment or say --all; dris reproduce --list names them")
    modules = {name: experiment_of(name) for name in wanted}
    size, folder = scale_of(scale, seeds), out / scale
    whole = {name: module.cells(size) for name, module in modules.items()}
    cells = {
        name: narrowed(
            part,
            data=data or (),
            rules=rule or (),
            noises=noise or (),
            examples=examples,
            backbone=backbone,
        )
        for name, part in whole.items()
    }
    if paper_only:
        cells = {name: as_printed(name, part) for name, part in cells.items()}
    if known is not None:
        _adopt(talk, {name: [*part, *whole[name]] for name, part in cells.items()}, known, folder)
    if dry_run:
        return _tell_cost(talk, cells, whole, folder, device)
    claims = {}
    found = {}
    results = folder / "results"
    sources = {} if records is None else {name: records / f"{name}.json" for name in wanted}
    # Its own pages of the last time, no others; said before the cells run.
    writer = OWN.reading(*sources.values())
    pages = [path for name in wanted for path in page_files(name, results)]
    kept = [] if sources else [results / f"records/{name}.json" for name in wanted]
    writer.refuse(*pages, *kept, results / INDEX)
    if records is None:
        to_run = {name: _done(part, folder) if finished else part for name, part in cells.items()}
        place = Place(folder / "runs", data_dir, device, compiled=compiled)
        where = engine_of(engine, address, cpus, gpus, device)
        found = _run(talk, to_run, folder, place, workers, where)
    for name in wanted:
        if records is None:
            mine = [found[cell.key] for cell in cells[name] if cell.key in found]
            rows = gather(name, scale, mine, len(whole[name]))
            if not mine:
                talk.note(f"{name}: no cell is finished yet")
                continue
        else:
            rows = read_records(sources[name])
        page = write_page(name, rows, results, writer=writer)
        claims[name] = modules[name].claims(rows)
        talk.say_lines(f"\n{modules[name].TITLE}\n")
        for line in claim_lines(claims[name]):
            talk.say(line)
        talk.note(f"wrote {page}")
    talk.note(f"wrote {write_index(results, scale, writer=writer)}")
    outcomes = {
        name: [{"claim": c.text, "outcome": c.outcome, "evidence": c.evidence} for c in part]
        for name, part in claims.items()
    }
    return talk.result({"command": "reproduce", "scale": scale, "claims": outcomes})


def _adopt(talk: Talk, cells: "dict[str, list[Cell]]", known: Path, folder: Path) -> None:
    """Cells that the records of any experiment have: those are shared."""
    from dris.core.errors import InputError
    from experiments.experiment import EXPERIMENTS
    from experiments.records import read_records
    from experiments.runner import adopt

    paths = [path for name in EXPERIMENTS if (path := known / f"{name}.json").is_file()]
    if not paths:
        names = ", ".join(f"{name}.json" for name in cells)
        raise InputError(f"{known} has none of {names}; name a folder of records")
    every = list(dict.fromkeys(cell for part in cells.values() for cell in part))
    taken = sum(adopt(every, read_records(path), folder) for path in paths)
    talk.note(f"{taken} finished cells taken from {known}")


def _run(
    talk: Talk,
    cells: "dict[str, list[Cell]]",
    folder: Path,
    place: "Place",
    workers: int | None,
    engine: "Engine",
) -> "dict[str, Record]":
    """Every cell's record by key; what experiments share is run once."""
    from dris.learn.engines.bars import bar
    from experiments.runner import run

    every = list(dict.fromkeys(cell for part in cells.values() for cell in part))
    try:
        with bar("cells") as progress:
            found = run(
                every,
                out=folder,
                place=place,
                workers=workers,
                progress=progress,
                engine=engine,
            )
    except KeyboardInterrupt:
        talk.note(f"what is finished is kept in {folder}; to go on: {again()}")
        raise
    return {cell.key: record for cell, record in zip(every, found, strict=True)}


def _done(cells: "list[Cell]", folder: Path) -> "list[Cell]":
    from experiments.runner import missing

    left = set(missing(cells, folder))
    return [cell for cell in cells if cell not in left]


def _tell_cost(
    talk: Talk,
    cells: "dict[str, list[Cell]]",
    whole: "dict[str, list[Cell]]",
    folder: Path,
    device: str,
) -> None:
    """Each experiment's cells and cost, then that of all of them, shared cells once."""
    from experiments.costs import cost_of

    for name, part in cells.items():
        talk.say(f"{name}: {cost_of(part, folder, device=device, like=whole[name])}")
        for cell in part:
            at = "" if cell.target is None else f", {cell.target.model}"
            talk.say(
                f"  {cell.key}  {cell.kind}, {cell.source}, {cell.noise}, {cell.ensemble}, "
                f"{cell.rule}, keep {cell.keep:g}{at}, seed {cell.seed}"
            )
    every, like = ([c for part in cut.values() for c in part] for cut in (cells, whole))
    total = cost_of(every, folder, device=device, like=like)
    talk.say(f"in all: {total}")
    talk.result(
        {"command": "reproduce", "cells": total.cells, "left": total.left, "seconds": total.seconds}
    )
