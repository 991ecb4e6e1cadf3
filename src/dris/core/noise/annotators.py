"""Several people's labels of the same examples: what is the truth, and how good is each of them?

Dawid and Skene (1979): every person confuses classes in a way of their own, and errs independently
of the others once the true class is known. Models are one more opinion, as in CROWDLAB (Goh et al.
2022): their probabilities, raised to the likeliest power, are the prior of the true class.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Labels = NDArray[np.int64]
Floats = NDArray[np.float64]
MAX_STEPS = 100  # of expectation maximisation
CLOSE = 1e-4  # no probability moves by more: it has converged
SHARED = 5.0  # answers that everybody's common confusions count for beside a person's own
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)  # of the models' probabilities
_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Who said what of which example: an entry for each answer."""

    row: Labels  # the example's position
    annotator: Labels  # a position in `names`
    label: Labels  # 0..C-1
    names: tuple[str, ...]  # of the annotators
    examples: int  # N, those without an answer counted

    @classmethod
    def of_table(cls, table: Labels, names: tuple[str, ...]) -> "Answers":
        """Answers (N, A) with -1 where somebody gave none."""
        row, annotator = np.nonzero(table >= 0)
        return cls(row, annotator, table[row, annotator].astype(np.int64), names, len(table))

    def __len__(self) -> int:
        return len(self.row)

    def take(self, rows: NDArray[np.bool_]) -> "Answers":
        """The answers on the examples that a mask names, which are counted anew."""
        place, here = np.cumsum(rows) - 1, rows[self.row]
        own = (self.annotator[here], self.label[here], self.names, int(rows.sum()))
        return Answers(place[self.row[here]], *own)

    def votes(self, classes: int) -> Floats:
        """How many answers each class got, (N, C)."""
        cells = np.bincount(self.row * classes + self.label, minlength=self.examples * classes)
        return cells.reshape(self.examples, classes).astype(np.float64)

    def said(self, row: int, names: tuple[str, ...]) -> str:
        """What the annotators said of one example.

        >>> two = Answers.of_table(np.array([[0, 1, 1]]), ("ana", "bo", "cy"))
        >>> two.said(0, ("cat", "dog"))
        '2 × dog, 1 × cat'
        """
        begin, end = np.searchsorted(self.row, [row, row + 1])
        counts = Counter(names[label] for label in self.label[begin:end])
        return ", ".join(f"{count} × {name}" for name, count in counts.most_common())


@dataclass(frozen=True, slots=True, eq=False)
class Consensus:
    """The likeliest true labels, and how each annotator answers."""

    truth: Floats  # P(true class) of each example, (N, C)
    confusion: Floats  # P(answer | true class) of each annotator, (A, true, answer)
    quality: Floats  # how often each annotator gives the true label
    power: float = 0.0  # of the models' probabilities; 0 where there are none, or they say nothing

    @property
    def labels(self) -> Labels:
        """The likeliest class of each example."""
        return np.asarray(self.truth.argmax(axis=1), dtype=np.int64)


def find_consensus(answers: Answers, classes: int, models: Floats | None = None) -> Consensus:
    """The true labels that explain the answers best, with the annotators' confusions.

    `answers` are in the order of the examples, `models` out-of-fold probabilities (N, C). An
    annotator of few answers is taken to err as all of them do together.
    """
    votes = answers.votes(classes)
    start = (votes + _TINY) / (votes + _TINY).sum(axis=1, keepdims=True)
    if models is None:
        return _maximise(answers, start, None, 0.0)[0]
    logs = np.log(np.maximum(models, _TINY))
    every = [_maximise(answers, start, power * logs, power) for power in POWERS]
    return max(every, key=lambda one: one[1])[0]


def _maximise(
    answers: Answers, truth: Floats, prior: Floats | None, power: float
) -> tuple[Consensus, float]:
    """Expectation maximisation from a first guess, and the log likelihood of the answers."""
    people = len(answers.names)
    if prior is not None:
        prior = prior - _log_sum(prior)
    for _ in range(MAX_STEPS):
        confusion = _confusions(answers, truth)
        shares = truth.mean(axis=0)
        log = np.tile(np.log(shares + _TINY), (len(truth), 1)) if prior is None else prior.copy()
        said = np.log(confusion[answers.annotator, :, answers.label])  # (answers, true)
        for label in range(truth.shape[1]):
            log[:, label] += np.bincount(answers.row, said[:, label], minlength=len(truth))
        whole = _log_sum(log)
        truth, before = np.exp(log - whole), truth
        if np.abs(truth - before).max() < CLOSE:
            break
    right = truth[answers.row, answers.label]
    counts = np.bincount(answers.annotator, minlength=people)
    quality = np.bincount(answers.annotator, right, minlength=people) / np.maximum(counts, 1)
    return Consensus(truth, confusion, quality, power), float(whole.sum())


def _confusions(answers: Answers, truth: Floats) -> Floats:
    """P(answer | true class) of everybody, (A, true, answer), those of few drawn to all others'."""
    people, classes = len(answers.names), truth.shape[1]
    cell, size = answers.annotator * classes + answers.label, people * classes
    each = [np.bincount(cell, truth[answers.row, label], size) for label in range(classes)]
    counts = np.stack(each).reshape(classes, people, classes)
    common = counts.sum(axis=1) + 1 / classes
    common /= common.sum(axis=1, keepdims=True)
    own = counts + SHARED * common[:, None]
    return np.asarray((own / own.sum(axis=2, keepdims=True)).transpose(1, 0, 2))


def _log_sum(logs: Floats) -> Floats:
    top = logs.max(axis=1, keepdims=True)
    return np.asarray(top + np.log(np.exp(logs - top).sum(axis=1, keepdims=True)))
