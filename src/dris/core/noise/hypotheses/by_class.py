"""Errors depend on the class: T[y, g] of the rows of class y are given the label g."""

from dataclasses import dataclass

import numpy as np

from dris.core.noise.hypotheses.calibration import fit_calibration
from dris.core.noise.hypotheses.hypothesis import Evidence, Floats, Noise, log_views_without
from dris.core.noise.hypotheses.uniform import ALMOST_NONE, UniformNoise
from dris.core.noise.views import Labels, Views

TRUST = 0.3  # rows a class that a uniform matrix counts for
ROUNDS, STEPS, STEPS_OF_MATRIX, SETTLED = 6, 25, 3, 0.003
NEARBY_ROUNDS = 8  # of the calibration, from that of a matrix of the same kind
USUAL_RATE = 0.2  # of one of the starts
# Confusions of fewer rows, or of a smaller share of a class, are struck out.
MIN_CONFUSED, MIN_CONFUSED_SHARE = 3.0, 0.05
MAX_CLASSES, MIN_ROWS_OF_CLASS = 1_000, 30  # of a matrix; on average
MODES = 2  # of the matrices that are found, so many count
LAMBDAS = (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25)  # lesser and greater noise of the same kind
# What a matrix gains by its freedom alone: an amount, a share of the rows, for no calibration is
# exact and a matrix makes up for what it lacks, and half of what fitting gains over not knowing it.
FREEDOM, FREEDOM_OF_ROW, FREEDOM_OF_MATRIX = 1.0, 0.0015, 0.5
ERRORS, RIGHTS = 1.0, 3.0  # of a class's rate before anything is seen, a Beta distribution
SPARSE = 0.05  # of its confusions, a Dirichlet distribution: they go to few classes
HOPELESS = 30.0  # so far behind the best, a matrix is left out


@dataclass(frozen=True, slots=True, eq=False)
class ClassNoise(Noise):
    """A matrix, true class by given label."""

    matrix: Floats

    def chances(self, views: Views, labels: Labels) -> Floats:
        """The column of each label; of many classes those that do not stand apart on average."""
        if views.columns is None:
            return np.ascontiguousarray(self.matrix[:, labels].T)
        apart = self.matrix[views.columns, labels[:, None]]
        rest = self.matrix.sum(axis=0)[labels] - apart.sum(axis=1)
        return np.concatenate((apart, rest[:, None] / views.spread[-1]), axis=1)

    def remove(self, values: Floats, views: Views) -> Floats:
        """By the inverse of the matrix; of many classes not all are at hand."""
        if views.columns is not None:
            return values
        clean = np.maximum(values @ np.linalg.inv(self.matrix), 0)
        return np.asarray(clean / np.maximum(clean.sum(axis=1, keepdims=True), 1e-12))

    def expected_counts(self, eta: Floats, views: Views, labels: Labels) -> Floats:
        """How many rows of each class were given each label, by expectation, (true, given)."""
        joint = eta * self.chances(views, labels)
        share = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-12)
        counts = np.zeros((views.classes, views.classes))
        if views.columns is None:
            np.add.at(counts.T, labels, share)
        else:
            np.add.at(counts, (views.columns, labels[:, None]), share[:, :-1])
        return counts


def fit_by_class(evidence: Evidence, prior: float) -> None:
    """The likeliest matrices, and lesser and greater ones of the same kind."""
    views, classes = evidence.views, evidence.views.classes
    if classes > MAX_CLASSES or len(views) < MIN_ROWS_OF_CLASS * classes:
        return
    none, best = evidence.fitted[0], min(evidence.fitted, key=lambda one: one.cost)
    rate = best.noise.rate if isinstance(best.noise, UniformNoise) else 0.0
    even = uniform_matrix(min(max(rate, 0.01), 0.4), classes)
    confident = confident_matrix(none.clean(views), views, evidence.labels)
    lead = min(one.cost - one.log_prior for one in evidence.fitted)
    tried = []
    for learned in evidence.learners:
        for start in (confident, uniform_matrix(USUAL_RATE, classes)):
            for _ in range(1 if classes == 2 else 2):
                noise, v = _fit_matrix(evidence, learned, even, start)
                own = evidence.fit("by class", noise, prior=prior, learned=learned, start=v)
                evidence.fitted.pop()
                counts = noise.expected_counts(own.clean(views), views, evidence.labels)
                freedom = FREEDOM + FREEDOM_OF_ROW * len(views)
                freedom += FREEDOM_OF_MATRIX * gain_by_fitting(counts)
                tried.append((own.cost - own.log_prior + freedom, noise.matrix, own, freedom))
                start = strike_out(noise.matrix, counts)
    tried.sort(key=lambda one: one[0])
    for total, matrix, own, freedom in tried[:MODES]:
        if total > lead + HOPELESS:
            continue
        for part in LAMBDAS:
            scaled = np.eye(classes) + part * (matrix - np.eye(classes))
            scaled = np.maximum(scaled, ALMOST_NONE / (classes - 1))  # any label may be a slip
            evidence.fit(
                "by class",
                ClassNoise(scaled / scaled.sum(axis=1, keepdims=True)),
                prior=prior / len(LAMBDAS) / MODES,
                learned=own.learned,
                start=own.parameters,
                penalty=freedom,
                rounds=NEARBY_ROUNDS,
            )


def gain_by_fitting(counts: Floats) -> float:
    """By how much, in log-likelihood, the matrix of these counts beats one drawn beforehand."""
    from scipy.special import betaln, gammaln

    classes, own = len(counts), np.diag(counts)
    size = counts.sum(axis=1)
    wrong = np.maximum(size - own, 0)
    shares = np.maximum(counts / np.maximum(size, 1e-9)[:, None], 1e-12)
    drawn = betaln(wrong + ERRORS, own + RIGHTS) - betaln(ERRORS, RIGHTS)
    if classes > 2:
        others = counts[~np.eye(classes, dtype=np.bool_)].reshape(classes, classes - 1)
        whole = SPARSE * (classes - 1)
        drawn += gammaln(whole) - gammaln(wrong + whole)
        drawn += (gammaln(others + SPARSE) - gammaln(SPARSE)).sum(axis=1)
    return float((counts * np.log(shares)).sum() - drawn.sum())


def strike_out(matrix: Floats, counts: Floats) -> Floats:
    """The matrix without confusions that hardly occur."""
    least = np.maximum(MIN_CONFUSED, MIN_CONFUSED_SHARE * counts.sum(axis=1, keepdims=True))
    kept = np.where((counts >= least) | np.eye(len(matrix), dtype=np.bool_), matrix, 1e-6)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def uniform_matrix(rate: float, classes: int) -> Floats:
    """The matrix of uniform noise."""
    matrix = np.full((classes, classes), rate / (classes - 1))
    np.fill_diagonal(matrix, 1 - rate)
    return matrix


def confident_matrix(p: Floats, views: Views, labels: Labels) -> Floats:
    """How often a label stands where another class is confidently seen (Northcutt et al. 2021).

    Confident: at least as probable as the class is for its own rows on average.
    """
    classes, single = views.classes, p if views.columns is None else p[:, :-1]
    size = np.maximum(np.bincount(labels, minlength=classes), 1)
    own = np.take_along_axis(p, views.column_of(labels)[:, None], axis=1)[:, 0]
    usual = np.bincount(labels, weights=own, minlength=classes) / size
    sure = single >= (usual if views.columns is None else usual[views.columns]) - 1e-12
    counted = sure.any(axis=1)
    seen = views.class_of(np.where(sure, single, -1).argmax(axis=1))
    joint = np.zeros((classes, classes))
    np.add.at(joint, (seen[counted], labels[counted]), 1.0)
    joint = joint / np.maximum(joint.sum(axis=0), 1) * size + 0.3 * np.eye(classes) + 0.01
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _fit_matrix(
    evidence: Evidence, learned: tuple[bool, ...], even: Floats, start: Floats
) -> tuple[ClassNoise, Floats]:
    """The matrix and calibration of the largest likelihood, in turns (expectation maximisation)."""
    views, labels, shape = evidence.views, evidence.labels, evidence.shape
    prior = TRUST * np.clip(even, 1e-4, 1)
    noise, v = ClassNoise(start), shape.start()
    for _ in range(ROUNDS):
        logs, chances = log_views_without(views, noise, learned), noise.chances(views, labels)
        _, v = fit_calibration(logs, chances, shape, views.spread, v, STEPS)
        eta, last = shape.clean(v, logs, views.spread), noise.matrix
        for _ in range(STEPS_OF_MATRIX):
            counts = noise.expected_counts(eta, views, labels) + prior
            noise = ClassNoise(counts / counts.sum(axis=1, keepdims=True))
        if np.abs(noise.matrix - last).max() < SETTLED:
            break
    return noise, v
