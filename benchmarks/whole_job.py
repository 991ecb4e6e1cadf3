"""`dris prune people.csv` and `dris clean people.csv` beside cleanlab's whole job on that file.

    python benchmarks/whole_job.py [--rounds 5]

Each job runs in a fresh process, from reading the file to its results: for dris imports, folds,
canaries, the kept rows and the page; for cleanlab imports, the usual encoding (one column per
category, numbers standardised), five-fold logistic regression and `find_label_issues`. The file is
that of the quickstart, 8,000 × 6, written by `examples/quickstart_data.py`. Processor time of the
process and all below it, one thread each, in turns, the order turned round every time; a ratio is
of the medians. Modules are compiled once before. Needs `pip install cleanlab`, and says so where
it is missing.
"""

import argparse
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from measure import finish, report

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from quickstart_data import people

CLEANLAB = """
import sys
import pandas as pd
from cleanlab.filter import find_label_issues
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

rows = pd.read_csv(sys.argv[1])
labels = pd.factorize(rows["income"], sort=True)[0]
encoded = make_column_transformer(
    (StandardScaler(), ["age", "hours", "gain"]), (OneHotEncoder(), ["edu", "job"])
)
model = make_pipeline(encoded, LogisticRegression())
chances = cross_val_predict(model, rows, labels, cv=5, method="predict_proba")
issues = find_label_issues(labels, chances, return_indices_ranked_by="self_confidence")
rows.drop(index=issues).to_csv(sys.argv[2], index=False)
"""
DRIS = "from dris.cli import main; main()"
JOBS = {
    "cleanlab": None,
    "prune": ("prune", "--keep", "0.25"),
    "prune, no harm check": ("prune", "--keep", "0.25", "--skip-harm-check"),
    "clean": ("clean",),
}
AIMS = {"prune, no harm check": 1.5, "prune": 3.0, "clean": 3.0}


def main() -> None:
    """Print the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    if importlib.util.find_spec("cleanlab") is None:
        print("cleanlab is not installed: pip install cleanlab")
        return
    spent: dict[str, list[float]] = {name: [] for name in JOBS}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "people.csv")
        people(data, np.random.default_rng(0))
        for turn in range(rounds + 1):
            names = list(JOBS) if turn % 2 else list(reversed(JOBS))
            for name in names:
                seconds = cost(name, data, Path(folder, f"{name.replace(',', '')}-{turn}"))
                if turn:  # the first compiles modules
                    spent[name].append(seconds)
    for name, each in spent.items():
        told = ", ".join(f"{s:.2f}" for s in sorted(each))
        print(f"{name}: {statistics.median(each):.2f} s of processor time ({told})")
    theirs = statistics.median(spent["cleanlab"])
    for name, aim in AIMS.items():
        ratio = statistics.median(spent[name]) / theirs
        report(f"{name} / cleanlab's whole job", ratio, "×", aim, at_least=False)
    report("clean", statistics.median(spent["clean"]), " s", 2, at_least=False)
    finish()


def cost(name: str, data: Path, out: Path) -> float:
    """Seconds of processor time of one job in a process of its own."""
    words = JOBS[name]
    line = [sys.executable, "-c", CLEANLAB, str(data), f"{out}.csv"]
    if words is not None:
        line = [sys.executable, "-c", DRIS, words[0], str(data), "--label", "income"]
        line += [*words[1:], "--out", str(out)]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env |= {"OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(data.parent / "compiled")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(line, check=True, capture_output=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
