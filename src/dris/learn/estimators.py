"""scikit-learn classifiers as proxies: what "an epoch" means for each kind, and a few by name."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.learn.outputs import as_logits, logits_of, penultimate_of, probabilities_as_logits

# After each epoch: logits (N, C) of the rows asked for, and their penultimate features if wanted.
Epoch = tuple[NDArray[Any], NDArray[Any] | None]


def _mlp() -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((64,), solver="sgd", learning_rate_init=0.02, momentum=0.9)


def _sgd(loss: str) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss=loss, alpha=1e-3)


def _boosted_trees() -> Any:
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(n_estimators=40, subsample=0.5, max_depth=3)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "mlp": _mlp,
    "sgd_log": lambda: _sgd("log_loss"),
    "sgd_hinge": lambda: _sgd("hinge"),
    "sgd_modified_huber": lambda: _sgd("modified_huber"),
    "boosted_trees": _boosted_trees,
}


def resolve(model: Any) -> Any:
    """An unfitted estimator from a name or from an estimator; checks that it can be a proxy.

    >>> resolve("sgd_log").loss
    'log_loss'
    """
    if isinstance(model, str):
        if model not in ESTIMATORS:
            raise InputError(f"unknown model {model!r}; choose from {', '.join(ESTIMATORS)}")
        return ESTIMATORS[model]()
    if isinstance(model, type):
        raise InputError(f"model must be an estimator, got the class {model.__name__}; call it")
    if not hasattr(model, "get_params"):
        raise InputError(
            f"model must be a name or a scikit-learn classifier, got {type(model).__name__}"
        )
    if not (hasattr(model, "decision_function") or hasattr(model, "predict_proba")):
        raise InputError(
            f"{type(model).__name__} has neither decision_function nor predict_proba; "
            "choose a classifier that scores its classes"
        )
    if not (hasattr(model, "partial_fit") or _stages_of(model)):
        raise InputError(
            f"{type(model).__name__} has neither partial_fit nor staged predictions, so it has no "
            "epochs to record; use SGDClassifier, MLPClassifier or gradient-boosted trees"
        )
    return model


def epochs_of(
    estimator: Any,
    x: NDArray[Any],
    y: NDArray[np.int64],
    *,
    rows: NDArray[np.intp],
    measure: NDArray[np.intp] | slice,
    classes: int,
    epochs: int,
    batch_size: int,
    rng: np.random.Generator,
    penultimate: bool,
) -> Iterator[Epoch]:
    """Train on `rows`, and after each epoch say what the model thinks of the rows `measure`.

    With partial_fit an epoch is one shuffled pass in mini-batches; with staged predictions it
    is the same share of the boosting rounds.
    """
    if hasattr(estimator, "partial_fit"):
        every_class = np.arange(classes)
        for _ in range(epochs):
            for batch in _batches(rng.permutation(rows), batch_size):
                estimator.partial_fit(x[batch], y[batch], classes=every_class)
            seen = x[measure]
            yield (
                logits_of(estimator, seen),
                penultimate_of(estimator, seen) if penultimate else None,
            )
        return
    if penultimate:
        penultimate_of(estimator, x[:0])
    if np.unique(y[rows]).size < classes:
        absent = sorted(set(range(classes)) - set(y[rows].tolist()))
        raise InputError(
            f"class {absent[0]} has no example in the part that {type(estimator).__name__} trains "
            "on; use fewer folds or a larger bag"
        )
    estimator.fit(x[rows], y[rows])
    stages, convert = _stages_of(estimator)
    outputs = [convert(z) for z in getattr(estimator, stages)(x[measure])]
    if len(outputs) < epochs:
        raise InputError(
            f"{type(estimator).__name__} stopped after {len(outputs)} rounds, {epochs} epochs were "
            "asked for; allow more rounds or ask for fewer epochs"
        )
    for e in range(1, epochs + 1):
        yield outputs[-(-e * len(outputs) // epochs) - 1], None


def _stages_of(estimator: Any) -> Any:
    if hasattr(estimator, "staged_decision_function"):
        return "staged_decision_function", as_logits
    if hasattr(estimator, "staged_predict_proba"):
        return "staged_predict_proba", probabilities_as_logits
    return None


def _batches(order: NDArray[np.intp], size: int) -> Iterator[NDArray[np.intp]]:
    for begin in range(0, len(order), size):
        yield order[begin : begin + size]


def names_of(models: Sequence[Any]) -> list[str]:
    """Readable names, for provenance.

    >>> names_of([resolve("sgd_log")])
    ["SGDClassifier(alpha=0.001, loss='log_loss')"]
    """
    return [" ".join(repr(m).split()) for m in models]
