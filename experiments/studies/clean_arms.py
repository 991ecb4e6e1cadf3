"""What is done about wrong labels, each way an arm: nothing, dris, its peers, chance and truth."""

import resource
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dris

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]
Test = tuple[NDArray[np.floating], Labels]
FOLDS, MOST_TREES = 5, 25  # boosted trees grow one tree a class and step
BINS = 10


@dataclass(frozen=True)
class Problem:
    """Rows whose labels are doubted; the truth is for the oracle and for counting alone."""

    x: NDArray[np.floating]
    given: Labels
    true: Labels
    classes: int
    seed: int
    store: str = ""  # keeps proxies between the arms of dris
    dropped: int = 0  # by `clean`, for `random`

    @property
    def scaled(self) -> Floats:
        """Columns of mean 0 and deviation 1, as linear models and networks want them."""
        return (self.x - self.x.mean(axis=0)) / (self.x.std(axis=0) + 1e-6)


@dataclass(frozen=True)
class Advice:
    """Labels and weights to train with, how doubtful each label is, and what else was said."""

    labels: Labels
    weights: Floats  # 0 for what is dropped
    doubt: Floats | None = None
    suspects: Labels | None = None  # positions
    said: dict[str, Any] = field(default_factory=dict)


def keep(problem: Problem, mask: NDArray[np.bool_], **more: Any) -> Advice:
    """Train on the rows of a mask, with the labels they have."""
    return Advice(problem.given, mask.astype(np.float64), **more)


def everything(problem: Problem) -> Advice:
    """Train on all rows as they are."""
    return keep(problem, np.ones(problem.given.size, np.bool_))


def oracle(problem: Problem) -> Advice:
    """Drop exactly what is wrong."""
    return keep(problem, problem.given == problem.true)


def random(problem: Problem) -> Advice:
    """Drop as many as `clean` did, at random."""
    mask = np.ones(problem.given.size, np.bool_)
    rng = np.random.default_rng((problem.seed, 4))
    mask[rng.permutation(mask.size)[: problem.dropped]] = False
    return keep(problem, mask)


def linear(seed: int) -> Any:
    """Logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=300)


def hidden(seed: int) -> Any:
    """A hidden layer of 64."""
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((64,), batch_size=64, max_iter=25, random_state=seed)


def trees(seed: int) -> Any:
    """Histogram boosted trees as scikit-learn has them."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=seed)


def small_trees(seed: int) -> Any:
    """The same, half as many and half as large, for the target: it is trained ten times."""
    return trees(seed).set_params(max_iter=50, max_leaf_nodes=15)


TARGETS: dict[str, Callable[[int], Any]] = {"LR": linear, "MLP": hidden, "trees": small_trees}


def cleanlab_with(model: Callable[[int], Any]) -> Callable[[Problem], Advice]:
    """What cleanlab finds as its tutorial has it: out-of-fold probabilities, the default filter."""

    def advise(problem: Problem) -> Advice:
        from sklearn.model_selection import cross_val_predict

        p = cross_val_predict(
            model(problem.seed), problem.scaled, problem.given, cv=FOLDS, method="predict_proba"
        )
        return advice_of_cleanlab(problem, p)

    return advise


def advice_of_cleanlab(problem: Problem, p: Floats) -> Advice:
    """Its default filter, its default doubt and the share it calls wrong."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    issues = np.asarray(find_label_issues(problem.given, p, n_jobs=1), np.bool_)
    doubt = -np.asarray(get_label_quality_scores(problem.given, p))
    rate = [round(float(issues.mean()), 4)]
    at = np.flatnonzero(issues)
    return keep(problem, ~issues, doubt=doubt, suspects=at, said={"rate": rate})


def by_aum(problem: Problem) -> Advice:
    """What the AUM authors' package leaves (Pleiss et al. 2020), with 10 epochs of `hidden`.

    Twice, with other threshold samples; a row counts where it was none. Below the 99th percentile
    of the threshold samples it goes.
    """
    import pandas
    import torch
    from aum import AUMCalculator

    given, classes, n = problem.given, problem.classes, problem.given.size
    rng = np.random.default_rng((problem.seed, 3))
    order, size = rng.permutation(n), n // (classes + 1)
    inputs = torch.from_numpy(problem.scaled.astype(np.float32))
    doubts, below = np.full((2, n), np.nan), np.zeros((2, n), np.bool_)
    for run in range(2):
        fake = order[run * size : (run + 1) * size]
        labels = given.copy()
        labels[fake] = classes
        targets = torch.from_numpy(labels)
        torch.manual_seed(2 * problem.seed + run)
        network = torch.nn.Sequential(
            torch.nn.Linear(inputs.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, classes + 1)
        )
        steps = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
        with tempfile.TemporaryDirectory() as folder:
            calculator = AUMCalculator(folder, compressed=True)
            for _ in range(10):
                for part in np.array_split(rng.permutation(n), max(1, n // 64)):
                    steps.zero_grad()
                    logits = network(inputs[part])
                    torch.nn.functional.cross_entropy(logits, targets[part]).backward()
                    steps.step()
                    calculator.update(logits.detach(), targets[part], part.tolist())
            calculator.finalize()
            values = pandas.read_csv(Path(folder, "aum_values.csv"))
        margin = np.empty(n)
        margin[values["sample_id"].to_numpy()] = values["aum"].to_numpy()
        doubts[run] = -margin
        below[run] = margin < np.quantile(margin[fake], 0.99)
        doubts[run, fake], below[run, fake] = np.nan, True
    issues = below.all(axis=0)
    at = np.flatnonzero(issues)
    return keep(problem, ~issues, doubt=np.nanmean(doubts, axis=0), suspects=at)


def clean(problem: Problem) -> Advice:
    """`dris.clean`, its harm check and its page."""
    decision = dris.clean(_data(problem), seed=problem.seed, workers=1, store=problem.store)
    with tempfile.TemporaryDirectory() as folder:
        decision.write(Path(folder, "out"))
    return advice_of(decision, problem.given)


def fix(problem: Problem) -> Advice:
    """`dris.clean(fix=True)` with the proxies of `clean`."""
    how = {"seed": problem.seed, "workers": 1, "store": problem.store, "check_harm": False}
    decision = dris.clean(_data(problem), fix=True, **how)
    mask = np.zeros(problem.given.size)
    mask[decision.kept] = 1
    labels = np.array(decision.labels)
    at = np.flatnonzero(labels != problem.given)
    right = [int((one[at] == problem.true[at]).sum()) for one in (problem.given, labels)]
    return Advice(labels, mask, said={"fixed": [at.size, *right]})  # right before, right after


def weights(problem: Problem) -> Advice:
    """The same with `sample_weight` in place of dropping: every row as it is, some count less."""
    how = {"seed": problem.seed, "workers": 1, "store": problem.store, "check_harm": False}
    decision = dris.clean(_data(problem), **how)
    return Advice(problem.given, np.array(decision.sample_weight))


def advice_of(decision: dris.Decision, given: Labels) -> Advice:
    """What a decision says, and how it would count its own errors."""
    mask = np.zeros(given.size)
    mask[decision.kept] = 1
    p, rate, harm = decision.p_wrong, decision.noise_rate, decision.harm
    at = decision.suspects.positions if decision.suspects is not None else np.empty(0, np.int64)
    said: dict[str, Any] = {"rule": decision.rule, "expected": round(float(p[at].sum()), 2)}
    if decision.natural:
        said["natural"] = True  # what is printed is a lower end, "or more"
    if rate is not None:
        said["rate"] = [round(float(r), 4) for r in (rate.likely, rate.low, rate.high)]
    if harm is not None:
        said["harm"] = [round(harm.change.points, 3), round(harm.change.error, 3)]
    return Advice(given, mask, np.array(p), np.array(at), said)


def _data(problem: Problem) -> Any:
    return dris.LabelledData.of(problem.x, problem.given, classes=tuple(range(problem.classes)))


PEERS: dict[str, Callable[[Problem], Advice]] = {
    "everything": everything,
    "oracle": oracle,
    "cleanlab LR": cleanlab_with(linear),
    "cleanlab MLP": cleanlab_with(hidden),
    "cleanlab trees": cleanlab_with(trees),
    "AUM": by_aum,
}
OURS: dict[str, Callable[[Problem], Advice]] = {
    "clean": clean,
    "fix": fix,
    "weights": weights,
    "random": random,
}
ARMS = PEERS | OURS


@dataclass(frozen=True)
class Case:
    """A set under a noise by a seed: how its problem is made, and what is done about it."""

    set: str
    noise: str
    seed: int
    make: Callable[[], tuple[Problem, Test | None] | None]
    arms: dict[str, Callable[[Problem], Advice]] = field(default_factory=lambda: ARMS)

    @property
    def name(self) -> tuple[str, str, int]:
        """What tells it from others."""
        return self.set, self.noise, self.seed


def counted(advice: Advice, problem: Problem) -> dict[str, Any]:
    """What came of advice that doubts labels: detection, suspects and, of dris, calibration."""
    wrong = problem.given != problem.true
    result = dict(advice.said)
    if advice.suspects is not None:
        result["suspects"] = [advice.suspects.size, int(wrong[advice.suspects].sum())]
    if advice.doubt is not None and wrong.any():
        from sklearn.metrics import average_precision_score, roc_auc_score

        result["auroc"] = round(float(roc_auc_score(wrong, advice.doubt)), 4)
        result["ap"] = round(float(average_precision_score(wrong, advice.doubt)), 4)
    if "expected" in advice.said and advice.doubt is not None:
        at = np.clip((advice.doubt * BINS).astype(int), 0, BINS - 1)
        sums = (np.bincount(at, weights=w, minlength=BINS) for w in (None, advice.doubt, wrong))
        result["bins"] = [np.round(one, 2).tolist() for one in sums]
    return result


def reached(
    advice: Advice, problem: Problem, test_x: NDArray[np.floating], test_y: Labels
) -> dict[str, float]:
    """Test accuracy in per cent, on true labels, of every target trained as advised."""
    x, used = problem.scaled, advice.weights > 0
    test = (test_x - problem.x.mean(axis=0)) / (problem.x.std(axis=0) + 1e-6)
    labels, weight = advice.labels[used], advice.weights[used]
    result = {}
    for name, target in TARGETS.items():
        if name == "trees" and problem.classes > MOST_TREES:
            continue
        if np.unique(labels).size < 2:
            guess = np.full(test_y.size, labels[0] if labels.size else 0)
        else:
            more = {} if np.ptp(weight) == 0 else {"sample_weight": weight}
            guess = target(problem.seed).fit(x[used], labels, **more).predict(test)
        result[name] = round(100 * float((guess == test_y).mean()), 2)
    return result


def processor_seconds() -> float:
    """Processor seconds of this process and those it started."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(use.ru_utime + use.ru_stime for use in uses)
