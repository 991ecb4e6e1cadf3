"""Errors that people and rules made, with the truth beside them: the cases of results/natural.md.

DRIS_NATURAL holds `cifar-10n.npz` (Wei et al. 2022), `cifar-10n-{aggre,worst}-resnet18.npz` and
`roman-numerals.npz` with the out-of-fold probabilities of published networks, and `hausa*`
(Hedderich et al. 2020). Photographs are frozen features and titles singular vectors, both with the
arms of `clean` and a clean test set; on given probabilities dris stands beside cleanlab alone.
"""

import csv
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dris
from experiments.datasets.catalogue import load
from experiments.studies.clean_arms import (
    Advice,
    Case,
    Problem,
    Test,
    advice_of,
    advice_of_cleanlab,
)
from experiments.studies.clean_sets import data_folder, words_as_numbers
from experiments.studies.encoders import image_features

POOL, ROWS, TESTED = 3_000, 2_000, 1_000
PEOPLE = {"aggre": "aggre_label", "random": "random_label1", "worst": "worse_label"}
NETWORKS = (
    "efficientnet_b1",
    "resnet18",
    "resnet50d",
    "swin_base_patch4_window7_224",
    "twins_pcpvt_base",
)


def cases(seeds: int, work: Path) -> Iterator[Case]:
    """Every case, those with given probabilities first, then one seed after the other."""
    for kind in ("aggre", "worst"):
        yield Case("CIFAR-10N", f"{kind}, ResNet-18", 0, partial(_cifar10n, kind), GIVEN)
    for net in NETWORKS:
        yield Case("Roman numerals", net, 0, partial(_numerals, net), GIVEN)
    for seed in range(seeds):
        yield Case("Hausa titles", "rules", seed, partial(_titles, seed))
        for kind in PEOPLE:
            yield Case("CIFAR-10N", f"{kind}, features", seed, partial(_photos, kind, seed, work))


def _cifar10n(kind: str) -> tuple[Problem, None]:
    held = np.load(data_folder("DRIS_NATURAL") / f"cifar-10n-{kind}-resnet18.npz")
    return _given(held["given"], held["probabilities"], held["given"] != held["true"])


def _numerals(net: str) -> tuple[Problem, None]:
    held = np.load(data_folder("DRIS_NATURAL") / "roman-numerals.npz")
    return _given(*(held[f"{net}_{name}"] for name in ("given", "probabilities", "wrong")))


def _given(
    labels: NDArray[Any], probabilities: NDArray[Any], wrong: NDArray[np.bool_]
) -> tuple[Problem, None]:
    """Logarithms stand for the features; any other class stands for the true one."""
    given, p = labels.astype(np.int64), np.clip(probabilities.astype(np.float64), 1e-6, None)
    true = np.where(wrong, (given + 1) % p.shape[1], given)
    return Problem(np.log(p), given, true, p.shape[1], 0), None


def _probabilities(problem: Problem) -> NDArray[np.float64]:
    p = np.exp(problem.x)
    return p / p.sum(axis=1, keepdims=True)


def cleanlab_on_given(problem: Problem) -> Advice:
    """What cleanlab makes of the probabilities that came with the data."""
    return advice_of_cleanlab(problem, _probabilities(problem))


def clean_on_given(problem: Problem) -> Advice:
    """`dris.clean` on the same."""
    data = dris.LabelledData.of(problem.x, problem.given, classes=tuple(range(problem.classes)))
    how = {"probabilities": _probabilities(problem), "workers": 1, "check_harm": False}
    return advice_of(dris.clean(data, **how), problem.given)


GIVEN: dict[str, Callable[[Problem], Advice]] = {
    "cleanlab": cleanlab_on_given,
    "clean": clean_on_given,
}


def _titles(seed: int) -> tuple[Problem, Test]:
    """Titles labelled by rules; every seed has the same rows, models differ."""
    folder = data_folder("DRIS_NATURAL")

    def rows(name: str, delimiter: str) -> list[list[str]]:
        with (folder / name).open(encoding="utf-8", newline="") as file:
            return list(csv.reader(file, delimiter=delimiter))[1:]

    train, truth = rows("hausa.csv", ","), dict(rows("hausa_truth.csv", ","))
    test = rows("hausa_test.tsv", "\t")
    names, true = np.unique([truth[row[0]] for row in train], return_inverse=True)
    code = {name: k for k, name in enumerate(names)}
    x = words_as_numbers([row[1] for row in train] + [row[0] for row in test])
    given = np.array([code[row[2]] for row in train])
    there = x[len(train) :], np.array([code[row[1].lower()] for row in test])
    return Problem(x[: len(train)], given, true, len(names), seed), there


def _photos(kind: str, seed: int, work: Path) -> tuple[Problem, Test]:
    """CIFAR-10's own images as features, with what people called them."""
    labels = np.load(data_folder("DRIS_NATURAL") / "cifar-10n.npz")
    file = work / "sets" / "cifar-10n.npz"
    if not file.is_file():
        known = load("cifar10")
        at = np.sort(np.random.default_rng(0).permutation(len(known.train_y))[:POOL])
        images = np.concatenate([np.asarray(known.train_x)[at], np.asarray(known.test_x)[:TESTED]])
        y = np.asarray(known.test_y)[:TESTED]
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, at=at, x=image_features(images).astype(np.float32), y=y)
    made = np.load(file)
    drawn = np.sort(np.random.default_rng(seed).permutation(POOL)[:ROWS])
    at = made["at"][drawn]
    given, true = (labels[key][at].astype(np.int64) for key in (PEOPLE[kind], "clean_label"))
    return Problem(made["x"][drawn], given, true, 10, seed), (made["x"][POOL:], made["y"])
