"""`python -m experiments`: the paper's tables and our own studies, run from a clone.

python -m experiments pruning --scale smoke
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dris import InputError, read_data
from experiments.datasets.catalogue import load, status
from experiments.dris_internals import Engine, Writer, bar, connect, make_folder, printable
from experiments.own.trial import Trial, run_trial
from experiments.own.trial_page import NAMES, lines_of, write_trial
from experiments.registry import EXPERIMENTS
from experiments.reproduction import Machine, Plan, Selection, plan_of, reproduce
from experiments.results.publish import publish
from experiments.results.tally import claim_lines

_USAGE = """python -m experiments NAME... [options]   run experiments and write their pages
       python -m experiments list                 name them
       python -m experiments data [NAME]          list the data sets, or fetch and check one
       python -m experiments pages [NAME...]      write results/ again from its records
       python -m experiments trial FILE --label COLUMN   attack your own data: which rule wins?
       python -m experiments clean                does `dris clean` help, beside its peers?"""
_SOME: dict[str, Any] = {"action": "append", "default": []}


def main(words: Sequence[str]) -> int:
    """Run a command; a broken rule is one sentence and exit code 1."""
    commands = {
        "list": list_experiments,
        "data": data,
        "pages": pages,
        "trial": trial,
        "clean": clean,
    }
    try:
        if words and words[0] in commands:
            commands[words[0]](words[1:])
        else:
            run(words)
    except InputError as error:
        print(f"experiments: {printable(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("experiments: interrupted; the same command goes on", file=sys.stderr)
        return 130
    return 0


def run(words: Sequence[str]) -> None:
    """Run experiments, or say what they would cost."""
    asked = _run_parser().parse_args(words)
    selection = Selection(
        asked.scale,
        asked.seeds,
        asked.data,
        asked.rule,
        asked.noise,
        asked.examples,
        asked.backbone,
        asked.paper_only,
    )
    names = list(EXPERIMENTS) if asked.all else asked.names
    plan = plan_of(names, selection)
    if asked.known is not None:
        taken = plan.adopt(asked.known, asked.out)
        print(f"{taken.cells} finished cells taken from {asked.known}", file=sys.stderr)
        if taken.otherwise:
            mixed = ", ".join(f"{what} ({n})" for what, n in taken.otherwise.items())
            print(
                f"made otherwise than here: {mixed}; pages mix machines, paired seeds may not "
                "be paired",
                file=sys.stderr,
            )
    if asked.dry_run:
        show_costs(plan, asked.out, asked.device)
        return
    with bar("cells") as progress:
        made = reproduce(
            names,
            selection,
            out=asked.out,
            machine=_machine(asked),
            records=asked.records,
            run_missing=not asked.finished,
            progress=progress,
        )
    for name, claims in made.claims.items():
        print(f"\n{EXPERIMENTS[name].title}\n")
        print("\n".join(claim_lines(claims)))
        print(f"wrote {made.pages[name]}")
    print(f"wrote {made.index}")


def show_costs(plan: Plan, out: Path, device: str) -> None:
    """Each experiment's cells and cost, then that of all of them, shared cells once."""
    for name, cost in plan.costs(out, device).items():
        print(f"{name}: {cost}")
        for cell in plan.cells.get(name, ()):
            print(f"  {cell.key}  {cell}")


def list_experiments(words: Sequence[str]) -> None:
    """One line for each experiment."""
    argparse.ArgumentParser("python -m experiments list").parse_args(words)
    width = max(map(len, EXPERIMENTS))
    for name, one in EXPERIMENTS.items():
        print(f"{name:{width}}  {one.about} ({one.paper or 'ours'})")


def data(words: Sequence[str]) -> None:
    """List the known data sets and whether they are at hand, or fetch and check one."""
    parser = argparse.ArgumentParser("python -m experiments data", description=data.__doc__)
    parser.add_argument("name", nargs="?", help="fetch and check this one")
    _data_dir(parser)
    asked = parser.parse_args(words)
    if asked.name is None:
        for one in status(asked.data_dir):
            where = one.detail if one.state == "damaged" else one.path or ""
            print(f"{one.known.name:14}  {one.state:8}  {one.known.licence:18}  {printable(where)}")
        return
    known = load(asked.name, data_dir=asked.data_dir)
    text = f"{asked.name}: {len(known.train_y):,} to train on, {len(known.test_y):,} to test, "
    text += f"{len(known.classes)} classes, checksums right. {known.note} {known.citation}"
    print(printable(" ".join(text.split())))


def pages(words: Sequence[str]) -> None:
    """Write everything again that is published from records: pages, index, blocks of documents."""
    parser = argparse.ArgumentParser("python -m experiments pages", description=pages.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these experiments")
    for path in publish(only=parser.parse_args(words).names):
        print(f"wrote {path}")


def trial(words: Sequence[str]) -> None:
    """Attack your own data in known ways and show which rule wins: a table, JSON and a figure."""
    asked = _trial_parser(Trial()).parse_args(words)
    how = (asked.keep, asked.rate, asked.seeds, asked.proxies, asked.epochs, asked.examples)
    setting = Trial(*how)
    writer = Writer(force=asked.force).reading(asked.file)
    writer.refuse(*(asked.out / name for name in NAMES))
    examples = read_data(asked.file, label=asked.label, id=asked.id, trusted=asked.trusted)
    store = make_folder(asked.out) / "runs"
    where = _machine(asked)
    with bar("attacks, proxies, targets") as progress:
        records, split = run_trial(
            examples,
            setting,
            store=store,
            workers=where.workers,
            progress=progress,
            engine=where.engine,
        )
    write_trial(records, split, setting, asked.out, writer=writer)
    print("\n".join(lines_of(records, split, setting)))
    print(f"wrote {', '.join(str(asked.out / name) for name in NAMES)}")


def clean(words: Sequence[str]) -> None:
    """Run what is missing of results/clean.md or results/natural.md, and write the page."""
    importlib.import_module("experiments.studies.clean").main(words)  # studies are not typed


def _run_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m experiments", usage=_USAGE)
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="such as pruning, table1 or tab:cifar_pruning")
    add("--all", action="store_true", help="every experiment")
    add("--scale", default="cpu", help="smoke (seconds), cpu, mid or paper (a GPU) [cpu]")
    add("--seeds", type=int, help="seeds of every cell")
    add("--data", **_SOME, metavar="NAME", help="only this data set; may be repeated")
    add("--rule", **_SOME, metavar="NAME", help="only this rule; may be repeated")
    add("--noise", **_SOME, help="only clean, or such as uniform:0.1; may be repeated")
    add("--examples", type=int, help="draw so many training examples")
    add("--backbone", metavar="MODULE:FUNCTION", help="other frozen features")
    add("--paper-only", action="store_true", help="leave out what the paper does not have")
    add("--dry-run", action="store_true", help="print the cells and what they would cost")
    add("--records", type=Path, metavar="FOLDER", help="write pages from these; run nothing")
    add("--known", type=Path, metavar="FOLDER", help="take finished cells from these records")
    add("--finished", action="store_true", help="write pages of what is finished; run nothing")
    add("--out", type=Path, default=Path("reproduced"), help="folder for what is written")
    add("--device", default="cpu", help="cpu, cuda or cuda:1 [cpu]")
    _data_dir(parser)
    _where(parser)
    return parser


def _trial_parser(default: Trial) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m experiments trial", description=trial.__doc__)
    add = parser.add_argument
    add("file", help="a table, a folder of images or an archive of arrays")
    add("--label", help="column of the given labels")
    add("--id", help="column of ids")
    add("--trusted", help="column that says yes where a label is known to be right")
    add("--keep", type=float, default=default.keep, help="keep fraction")
    add("--rate", type=float, default=default.rate, help="share of labels attacked")
    add("--seeds", type=int, default=default.seeds, help="3 or more")
    add("--proxies", type=int, default=default.proxies)
    add("--epochs", type=int, default=default.epochs)
    add("--examples", type=int, default=default.examples, help="draw so many at most")
    add("--out", type=Path, default=Path("trial-out"), help="folder for what is written")
    add("--force", action="store_true", help="replace what an earlier trial wrote")
    _where(parser)
    return parser


def _data_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data-dir", type=Path, help="where data sets lie [DRIS_DATA]")


def _where(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--workers", type=int, help="processes [all cores]")
    add("--engine", default="local", help="local, or ray for a cluster")
    add("--address", help="of the Ray cluster, host:port")
    add("--cpus", type=float, default=1, help="on Ray, for each task")
    add("--gpus", type=float, default=0, help="on Ray, for each task")


def _machine(asked: argparse.Namespace) -> Machine:
    engine = Engine(asked.engine, asked.address, asked.cpus, asked.gpus)
    device = getattr(asked, "device", "cpu")
    engine.devices(device)
    if engine.name == "ray":
        connect(engine)
    return Machine(
        asked.workers,
        device,
        engine,
        getattr(asked, "data_dir", None),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
