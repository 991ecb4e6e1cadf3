"""Gated selection beside eight other rules, on one data set, from one command.

    python -m dris.bench.beyond --data digits --seeds 3 --store runs --out results

Cost on 2 free CPU cores: digits about 5 minutes, Fashion-MNIST (6,000 examples) about 15,
CIFAR-10 (10,000 examples, small CNN) some hours. Killed, the same command goes on. Expected: the
default gated rule is never worse than the better of DR-IS and AUM beyond noise, and better than
both in most columns. `python -m dris.bench.beyond.page` writes the page from the records.
"""

import argparse
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dris.bench.beyond.records import write_results
from dris.bench.beyond.run import run
from dris.bench.beyond.setting import STUDIES, study_of
from dris.core.arrayfile import made_folder


def main() -> None:
    """Run from the command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", choices=list(STUDIES), required=True)
    parser.add_argument("--examples", type=int, default=None)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--store", type=Path, default=Path("runs"))
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--backbone", default=None, help="package.module:function (Food-101)")
    parser.add_argument("--workers", type=int, default=None)
    asked = parser.parse_args()
    study = study_of(asked.data, asked.examples)
    talk = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=talk,
        disable=not talk.is_terminal,
    )
    with bar:
        task = bar.add_task(f"{asked.data}: proxies and targets", total=None)
        records = run(
            study,
            seeds=range(asked.seeds),
            store=asked.store,
            backbone=asked.backbone,
            workers=asked.workers,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    path = made_folder(asked.out) / f"beyond-{asked.data}.json"
    write_results(study, records, path)
    talk.print(f"wrote {path}", highlight=False)


if __name__ == "__main__":
    main()
