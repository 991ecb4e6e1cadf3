"""The three noisy data sets of docs/quickstart.md, with the truth beside them.

    python examples/quickstart_data.py FOLDER

writes people.csv (8,000 rows like the census's adult data, 15 % of the incomes flipped), digits/
(scikit-learn's digits as images by class, 15 % in a wrong folder) and embeddings.npz (6,000 × 32,
20 % of the labels wrong), and truth.json, which says which are wrong.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

JOBS = {"clerk": -0.5, "craft": 0.0, "exec": 1.5, "sales": 0.3, "tech": 0.8, "service": -1.2}
LEVELS = ("school", "college", "bachelor", "master", "doctor")


def main() -> None:
    """Write everything into the folder named on the command line."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    wrong = {
        "people.csv": people(folder / "people.csv", rng),
        "digits": digits(folder / "digits", rng),
        "embeddings.npz": embeddings(folder / "embeddings.npz", rng),
    }
    (folder / "truth.json").write_text(json.dumps(wrong) + "\n", encoding="utf-8")


def people(path: Path, rng: np.random.Generator, n: int = 8_000) -> list[str]:
    """Write a table of people; the ids of those whose income is wrong."""
    age, hours = rng.integers(17, 80, n), rng.integers(5, 80, n)
    level, gain = rng.choice(5, n, p=[0.35, 0.25, 0.22, 0.13, 0.05]), rng.integers(0, 3000, n)
    job = rng.choice(list(JOBS), n)
    score = 0.9 * level + np.array([JOBS[j] for j in job]) + 0.05 * (age + hours - 80) + gain / 3000
    flipped = _some(n, 0.15, rng)
    income = np.where((score > 1.2) ^ flipped, ">50K", "<=50K")
    ids = [f"p{i:05d}" for i in range(n)]
    words = [LEVELS[k] for k in level]
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["person", "age", "hours", "edu", "job", "gain", "income"])
        out.writerows(zip(ids, age, hours, words, job, gain, income, strict=True))
    return [ids[i] for i in np.flatnonzero(flipped)]


def digits(folder: Path, rng: np.random.Generator) -> list[str]:
    """Write a folder of images by class; the names of those that lie in a wrong one."""
    data = load_digits()
    moved = _some(len(data.target), 0.15, rng)
    given = np.where(moved, (data.target + rng.integers(1, 10, len(moved))) % 10, data.target)
    names = []
    for i, (picture, label) in enumerate(zip(data.images, given, strict=True)):
        name = f"{label}/{i:04d}.png"
        (folder / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray((picture * 15.9).astype(np.uint8)).save(folder / name)
        names.append(name)
    return [names[i] for i in np.flatnonzero(moved)]


def embeddings(path: Path, rng: np.random.Generator, n: int = 6_000) -> list[int]:
    """Write arrays of embeddings and labels; the positions of the wrong labels."""
    true = rng.integers(0, 6, n)
    x = rng.normal(size=(n, 32)) + 2.2 * rng.normal(size=(6, 32))[true] / np.sqrt(2)
    wrong = _some(n, 0.2, rng)
    label = np.where(wrong, (true + rng.integers(1, 6, n)) % 6, true)
    np.savez(path, x=x.astype(np.float32), label=label, true=true)
    return np.flatnonzero(wrong).tolist()


def _some(n: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """A random share of n, exactly."""
    chosen = np.zeros(n, dtype=bool)
    chosen[rng.permutation(n)[: int(share * n)]] = True
    return chosen


if __name__ == "__main__":
    main()
