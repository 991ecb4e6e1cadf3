"""A million rows with a column of text: time and peak memory of reading, and of finding labels.

    OMP_NUM_THREADS=1 python benchmarks/million_texts.py [--rows 1000000] [--folder FOLDER]
        [--read] [--beside]

Writes a CSV file of short messages of ten topics (an id, a time, a channel, a text of about ten
words, a label of which a tenth is wrong), and in a process of its own reads it with no option but
the label, then decides (`--read` stops before). Peak memory is what the process held at most;
times are processor time. `--beside` does the same with TF-IDF, a logistic regression in five folds
and cleanlab (100,000 rows are enough). Minutes of one core, and about 3 GB.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

CHILD = """
import json, resource, sys, time
import numpy as np
import dris
begin = time.process_time()
data = dris.read_data(sys.argv[1], label="team", text="words")
told = {"read": time.process_time() - begin, "width": data.x.shape[1], "bytes": data.x.nbytes}
told["read_peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if sys.argv[2] == "all":
    decision = dris.clean(data, check_harm=False, workers=1)
    told["decide"] = time.process_time() - begin - told["read"]
    told["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wrong = np.load(sys.argv[3])
    ranks = np.argsort(np.argsort(decision.p_wrong))
    n, m = len(wrong), int(wrong.sum())
    told["auroc"] = float((ranks[wrong].sum() - m * (m - 1) / 2) / (m * (n - m)))
print(json.dumps(told))
"""
BESIDE = """
import sys, time
begin = time.process_time()
import pandas as pd
from cleanlab.rank import get_label_quality_scores
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
rows = pd.read_csv(sys.argv[1])
labels = pd.factorize(rows["team"], sort=True)[0]
x = TfidfVectorizer().fit_transform(rows["text"])
chances = cross_val_predict(LogisticRegression(), x, labels, cv=5, method="predict_proba")
get_label_quality_scores(labels, chances)
print(f"TF-IDF, logistic regression and cleanlab: {time.process_time() - begin:.0f} s")
"""


def main() -> None:
    """Write the file, read it in a process of its own, print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--read", action="store_true")
    parser.add_argument("--beside", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        path, wrong = Path(folder, "messages.csv"), Path(folder, "wrong.npy")
        np.save(wrong, write(path, asked.rows))
        print(f"{asked.rows:,} rows, {path.stat().st_size / 1e6:.0f} MB of CSV", flush=True)
        what = "read" if asked.read else "all"
        command = [sys.executable, "-c", CHILD, str(path), what, str(wrong)]
        ran = subprocess.run(command, stdout=subprocess.PIPE)  # errors are seen as they come
        if ran.returncode:
            sys.exit(f"the process ended with {ran.returncode}; -9 is a lack of memory")
        told = json.loads(ran.stdout)
        if asked.beside:
            subprocess.run([sys.executable, "-c", BESIDE, str(path)], check=True)
    print(
        f"read into {told['width']} numbers a row ({told['bytes'] / 1e6:.0f} MB): "
        f"{told['read']:.0f} s of processor time, peak memory {told['read_peak'] / 1e3:.0f} MB"
    )
    if "decide" in told:
        print(
            f"decided: {told['decide']:.0f} s, peak memory {told['peak'] / 1e3:.0f} MB; planted "
            f"labels are found at an AUROC of {told['auroc']:.3f}"
        )


def write(path: Path, n: int) -> np.ndarray:
    """The file; returns which labels are wrong."""
    rng = np.random.default_rng(0)
    words = np.array([f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "dlmnrstx"])
    words = np.array([f"{w}{end}" for w in words for end in ("", "ing", "er", "ed", "s")])
    topics = [rng.choice(words, 60, replace=False) for _ in range(10)]
    truth = rng.integers(0, 10, n)
    wrong = rng.random(n) < 0.1
    given = np.where(wrong, (truth + rng.integers(1, 10, n)) % 10, truth)
    common = rng.zipf(1.3, (n, 7)) % len(words)
    own = rng.integers(0, 60, (n, 3))
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["id", "created", "channel", "text", "team"])
        for i in range(n):
            said = " ".join([*words[common[i]], *topics[truth[i]][own[i]]])
            day = f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}"
            out.writerow([f"M{i:07d}", day, ("mail", "chat", "phone")[i % 3], said, f"t{given[i]}"])
    return wrong


if __name__ == "__main__":
    main()
