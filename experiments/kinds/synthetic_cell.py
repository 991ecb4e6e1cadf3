"""The study in R^20: every sampler under every kind of label noise, one seed at a time.

What the paper leaves open, and every reading tried: docs/decisions/15-synthetic-study.md.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dris import importance, keep_top, rank_variance
from experiments.assumptions import contamination
from experiments.datasets.mixture import hyperplane_mixture
from experiments.dris_internals import Importance, NoisyLabels, Recipe, seed_for
from experiments.kinds.hinge import (
    Floats,
    HingeRecipe,
    Plans,
    Visits,
    by_plan,
    descend,
    gradient_norms,
    in_passes,
    losses,
    margins,
    together,
)
from experiments.kinds.shared import Finding, corrupt_labels, record_time
from experiments.spec import CLEAN, Cell, Noise
from experiments.workspace import Workspace

SMOOTHING = 0.1
# The paper's four first, then two other readings of "targeted": the longest x, which is the
# gradient norm of a model at zero, and the longest gradients of a trained least-squares attacker.
COLUMNS = (
    CLEAN,
    Noise("uniform", 0.1),
    Noise("targeted", 0.1),
    Noise("targeted", 0.25),
    Noise("longest", 0.1),
    Noise("longest", 0.25),
    Noise("least squares", 0.1),
    Noise("least squares", 0.25),
)


@dataclass(frozen=True, slots=True)
class Runs:
    """All columns of a seed, stacked: x (column, example, feature), labels ±1, who is rare."""

    x: Floats
    sign: Floats
    rare: NDArray[np.bool_]
    noisy: tuple[NoisyLabels, ...]
    seed: int

    def streams(self, *names: str | int) -> list[int]:
        """A seed for each run, the same in all columns: methods differ in nothing else."""
        return [seed_for(self.seed, "synthetic", *names)] * len(self.noisy)


def findings(cells: Sequence[Cell], workspace: Workspace) -> Iterator[Finding]:
    """Accuracy by method and column, and what the proxies disagree about, of each seed."""
    for cell in cells:
        if cell.target is None or cell.source.examples is None or cell.source.tests is None:
            raise ValueError("a synthetic cell needs a target and sizes")
        seconds: dict[str, float] = {}
        target = hinge_recipe(cell.target.recipe)
        with record_time(seconds, "attacker"):
            runs, attacker = make_runs(cell.source.examples, cell.seed, target)
        with record_time(seconds, "scoring"):
            proxies = proxy_losses(
                runs, cell.ensemble.count, hinge_recipe(cell.ensemble.recipe, halt=True)
            )
        others = sgd_losses(runs, cell.ensemble.count, cell.ensemble.recipe.scored)
        rows = methods(runs, proxies, others, cell.keep)
        with record_time(seconds, "target"):
            weights = train(runs, list(rows.values()), target)
        test = hyperplane_mixture(cell.source.tests, seed=cell.seed, split="test")
        right = (np.einsum("nf,mcf->mcn", test.x, weights) > 0) == (test.y == 1)
        reached = right.mean(axis=2)
        result = {
            "accuracy": {
                method: {str(c): float(reached[m, j]) for j, c in enumerate(COLUMNS)}
                for m, method in enumerate(rows)
            },
            "disagreement": disagreement(runs, proxies, others, attacker, cell.keep),
        }
        yield Finding(cell, result, seconds)


def hinge_recipe(recipe: Recipe, *, halt: bool = False) -> HingeRecipe:
    """A recipe in the words of the linear models; proxies halt at the epoch they are scored at.

    >>> hinge_recipe(Recipe(200, 1, 0.01, weight_decay=0.1), halt=True)
    HingeRecipe(epochs=100, base_rate=0.01, regularization=0.1)
    """
    return HingeRecipe(
        recipe.scored if halt else recipe.epochs, recipe.learning_rate, recipe.weight_decay
    )


def make_runs(examples: int, seed: int, recipe: HingeRecipe) -> tuple[Runs, Floats]:
    """A seed's data under every column, and the attacker that was trained on its true labels."""
    made = hyperplane_mixture(examples, seed=seed, split="train")
    x = made.x.astype(np.float64)
    sign: Floats = np.where(made.y == 1, 1.0, -1.0)
    order = in_passes([np.arange(examples)], examples, [seed_for(seed, "synthetic", "attacker")])
    attacker = descend(x[None], sign[None], order, recipe=recipe)
    aims: dict[str, Callable[[], Floats]] = {
        "targeted": lambda: gradient_norms(attacker, x[None], sign[None])[0],
        "longest": lambda: np.linalg.norm(x, axis=1),
        "least squares": lambda: least_squares_norms(x, sign),
    }
    noisy = tuple(
        corrupt_labels(made.y, column, seed=seed, classes=2, norms=aims.get(column.kind))
        for column in COLUMNS
    )
    runs = Runs(
        np.repeat(x[None], len(COLUMNS), axis=0),
        np.stack([np.where(n.given == 1, 1.0, -1.0) for n in noisy]),
        made.rare,
        noisy,
        seed,
    )
    return runs, attacker[0]


def least_squares_norms(x: Floats, sign: Floats) -> Floats:
    """Gradient norm |y − w·x|·‖x‖ of each example under the least-squares fit to the labels.

    >>> least_squares_norms(np.array([[1.0], [2.0]]), np.array([1.0, 2.0])).round(6).tolist()
    [0.0, 0.0]
    """
    weights = np.linalg.lstsq(x, sign, rcond=None)[0]
    result: Floats = (np.abs(sign - x @ weights) * np.linalg.norm(x, axis=1)).astype(np.float64)
    return result


def sgd_losses(runs: Runs, count: int, epochs: int) -> Floats:
    """(proxy, column, example) losses of scikit-learn's SGD with its own settings, unclamped."""
    from sklearn.linear_model import SGDClassifier

    result = np.empty((count, *runs.sign.shape))
    for k in range(count):
        for r, seed in enumerate(runs.streams("sgd", k)):
            model = SGDClassifier(
                loss="squared_hinge", max_iter=epochs, tol=None, random_state=seed % 2**32
            )
            model.fit(runs.x[r], runs.sign[r])
            result[k, r] = losses(runs.sign[r] * model.decision_function(runs.x[r]))
    return result


def proxy_losses(runs: Runs, count: int, recipe: HingeRecipe) -> Floats:
    """(proxy, column, example) losses at the scored epoch; proxies differ in their order."""
    total = runs.x.shape[1]
    everything = [np.arange(total)] * len(runs.x)
    visits = [in_passes(everything, total, runs.streams("proxy", k)) for k in range(count)]
    return np.stack([losses(margins(w, runs.x, runs.sign)) for w in train(runs, visits, recipe)])


def train(runs: Runs, visits: Sequence[Visits], recipe: HingeRecipe) -> Floats:
    """Weights (visits, column, feature) of one model per column and way of visiting, at once."""
    x, sign = np.tile(runs.x, (len(visits), 1, 1)), np.tile(runs.sign, (len(visits), 1))
    weights = descend(x, sign, together(visits, len(runs.x)), recipe=recipe)
    return weights.reshape(len(visits), len(runs.x), -1)


def methods(runs: Runs, proxies: Floats, others: Floats, keep: float) -> dict[str, Visits]:
    """Each row of the table by name: what its target visits."""
    total, seeds = runs.x.shape[1], runs.streams("target")
    variance = [rank_variance(proxies[:, r]) for r in range(len(runs.x))]
    of_losses = [proxies[:, r].var(axis=0) for r in range(len(runs.x))]

    def passes(scores: Sequence[Floats]) -> Visits:
        kept = [keep_top(s, fraction=keep, seed=runs.seed).indices for s in scores]
        return in_passes(kept, total, seeds)

    def frozen(exponent: float) -> Plans:
        plans = [_plan(v, exponent) for v in variance]
        return lambda weights: plans

    def standard(exponent: float) -> Plans:
        return lambda weights: [
            _plan(s, exponent) for s in gradient_norms(weights, runs.x, runs.sign)
        ]

    def by_loss(exponent: float) -> Plans:
        return lambda weights: [
            _plan(s, exponent) for s in losses(margins(weights, runs.x, runs.sign))
        ]

    rows = {"uniform": in_passes([np.arange(total)] * len(runs.x), total, seeds)}
    for name, plans in (("standard_is", standard), ("loss_is", by_loss), ("dris_online", frozen)):
        rows[f"{name}, weighted"] = by_plan(plans(1.0), total, seeds)
        rows[f"{name}, unweighted"] = by_plan(plans(0.0), total, seeds)
    rows["dris_static"] = passes(variance)
    rows["loss_variance_static"] = passes(of_losses)
    rows["dris_static, sgd"] = passes([rank_variance(others[:, r]) for r in range(len(runs.x))])
    return rows


def _plan(score: Floats, exponent: float) -> Importance:
    # All margins at 1 or past it: no gradient is left, and a step is the same whatever is drawn.
    score = score if score.max() > 0 else np.ones_like(score)
    return importance(score, smoothing=SMOOTHING, weight_exponent=exponent)


def disagreement(
    runs: Runs, proxies: Floats, others: Floats, attacker: Floats, keep: float
) -> dict[str, dict[str, float]]:
    """By noisy column: what was flipped, rank variance of clean and corrupted, both quarters."""
    result = {}
    for r, column in enumerate(COLUMNS):
        bad = runs.noisy[r].flipped
        if not bad.any():
            continue
        true = np.where(runs.noisy[r].true == 1, 1.0, -1.0)
        wrong = true * (runs.x[r] @ attacker) < 0
        variance, by_loss = rank_variance(proxies[:, r]), proxies[:, r].var(axis=0)
        kept, by_loss_kept, by_others = (
            keep_top(score, fraction=keep, seed=runs.seed).indices
            for score in (variance, by_loss, rank_variance(others[:, r]))
        )
        result[str(column)] = {
            "corrupted in the data": float(bad.mean()),
            "rare among the corrupted": float(runs.rare[bad].mean()),
            "attacker wrong among the corrupted": float(wrong[bad].mean()),
            "corrupted in DR-IS's quarter": contamination(kept, bad),
            "corrupted in loss variance's quarter": contamination(by_loss_kept, bad),
            "corrupted in DR-IS's quarter, SGD proxies": contamination(by_others, bad),
            "rank variance, clean": float(variance[~bad].mean()),
            "rank variance, corrupted": float(variance[bad].mean()),
        }
    return result
