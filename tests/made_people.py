"""A table like the census's adult data, with some incomes flipped and the truth kept apart."""

import csv
from pathlib import Path

import numpy as np

LEVELS = ("school", "college", "bachelor", "master", "doctor")
JOBS = {"clerk": -0.5, "craft": 0.0, "exec": 1.5, "sales": 0.3, "tech": 0.8, "service": -1.2}
INCOMES = np.array(["<=50K", ">50K"])


def write_people(path: Path, n: int, *, rate: float = 0.15, seed: int = 0) -> np.ndarray:
    """Write `n` people, every 20th of them marked as checked; True where the label is wrong."""
    rng = np.random.default_rng(seed)
    age, hours = rng.integers(17, 80, n), rng.integers(5, 80, n)
    level, gain = rng.choice(5, n, p=[0.35, 0.25, 0.22, 0.13, 0.05]), rng.integers(0, 3000, n)
    job = rng.choice(list(JOBS), n)
    z = 0.9 * level + np.array([JOBS[j] for j in job]) + 0.05 * (age - 40) + 0.05 * (hours - 40)
    truth = z + gain / 3000 > 1.2
    wrong = np.zeros(n, dtype=bool)
    wrong[rng.permutation(n)[: int(rate * n)]] = True
    checked = (np.arange(n) % 20 == 0) & ~wrong
    given = INCOMES[(truth ^ wrong).astype(int)]
    rows = zip(age, hours, [LEVELS[k] for k in level], job, gain, checked, given, strict=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["person", "age", "hours", "edu", "job", "gain", "checked", "income"])
        out.writerows([f"p{i:05d}", *row] for i, row in enumerate(rows))
    return wrong
