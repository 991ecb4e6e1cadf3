r"""Gated selection beside seven other rules, on one data set, from one command.

    python -m dris.bench.beyond --data digits --seeds 3 --store runs --out results

Cost: digits 2 minutes and Fashion-MNIST (6,000 examples) 4 minutes of two free CPU cores. CIFAR-10
(10,000 examples, the small CNN) is for the frozen default, with fewer rules and columns:

    python -m dris.bench.beyond --data cifar10 --noises clean uniform:0.1 targeted:0.1 \
        targeted:0.25 targeted:0.4 --rules random el2n aum aum_remove confident_learning \
        coverage rank_variance default

About 6 hours of two free cores, half of that with --examples 5000. Killed, the same command goes
on. Expected: the default gated rule is never worse than the better of DR-IS and AUM beyond noise,
and better than both in most columns. `python -m dris.bench.beyond.page` writes the page from the
records.
"""

import argparse
import sys
from pathlib import Path

from dris.bench.beyond.records import write_results
from dris.bench.beyond.run import run
from dris.bench.beyond.setting import STUDIES, noise_of, study_of
from dris.core.dynamics.arrayfile import made_folder
from dris.learn.run.bars import bar


def main() -> None:
    """Run from the command line; see the module's docstring."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", choices=list(STUDIES), required=True)
    parser.add_argument("--examples", type=int, default=None)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rules", nargs="+", default=None, help="all, unless named")
    parser.add_argument("--noises", nargs="+", default=None, help="all; clean, uniform:0.1, …")
    parser.add_argument("--store", type=Path, default=Path("runs"))
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--backbone", default=None, help="package.module:function (Food-101)")
    parser.add_argument("--workers", type=int, default=None)
    asked = parser.parse_args()
    study = study_of(asked.data, asked.examples)
    with bar(f"{asked.data}: proxies and targets") as progress:
        records = run(
            study,
            seeds=range(asked.seeds),
            store=asked.store,
            only_rules=asked.rules,
            only_noises=None if asked.noises is None else [noise_of(n) for n in asked.noises],
            backbone=asked.backbone,
            workers=asked.workers,
            progress=progress,
        )
    path = made_folder(asked.out) / f"beyond-{asked.data}.json"
    write_results(study, records, path)
    sys.stderr.write(f"wrote {path}\n")


if __name__ == "__main__":
    main()
