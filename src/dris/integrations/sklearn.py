"""scikit-learn: a classifier that drops suspects before it fits, and the selector alone."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from dris.core.errors import InputError, suggest_name
from dris.core.select.rules import RECOMMENDED, Rule
from dris.core.validate import refuse_other_index
from dris.data.labelled import Feature, LabelledData, order_classes
from dris.data.reader import ordered_categories, sparse_table
from dris.learn.proxies import group_codes
from dris.learn.trainers.standardize import as_single
from dris.pipeline.route import decide
from dris.pipeline.settings import Settings
from dris.pipeline.wording import ALL_KEPT, EVERYTHING

HOW = ("drop", "weights", "importance")  # what becomes of a choice when a classifier fits


class _Light(BaseEstimator):
    """Pickled without the features and dynamics, which may be gigabytes."""

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        decision = state.get("decision_")
        if decision is None:
            return state
        bare = np.zeros((len(decision), 0), dtype=np.float32)
        small = replace(decision, data=replace(decision.data, x=bare, features=()), ensemble=None)
        vars(small)["neighbours"] = decision.neighbours  # told from the features
        return {**state, "decision_": small}


class RobustSelector(_Light):
    """Choose which examples to train on, as `dris.clean` and `dris.prune` do.

    Of fewer than 50 examples, or 200 and a share to keep, everything is kept, with a warning.

    Args:
        keep: Largest share of the examples to keep; None drops suspects only.
        rule: "recommended" for the data, or one of `dris.RULES`.
        how: "drop" leaves suspects out; "weights" uses every example, weighted by P(wrong);
            "importance" weights the kept by their disagreement (paper, eq. 7).
        proxies: K, two or more.
        epochs: Largest number of passes of each proxy over the data.
        model: The proxies: a name, a scikit-learn classifier with `partial_fit`, or a list
            of those; None takes what `dris.clean` takes.
        ordinal: All classes in their order, lowest first, where they have one; an ordered
            categorical of pandas as y brings its own.
        store: Folder that keeps finished proxies, so that a search over `keep` trains them once.
        random_state: A whole number repeats the result; None or a RandomState draws one.
        n_jobs: Processes to train proxies in.

    Attributes:
        kept_: True for the examples to train on, one entry per example.
        weights_: Weight of each example, 0 for those left out.
        rule_: The rule that was used, "everything" where nothing is dropped.
        decision_: The whole `Decision`.
        classes_: The labels that occur.

    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) % 2
    >>> X = rng.normal(size=(300, 3)) + 4 * y[:, None]
    >>> wrong = np.arange(300) < 60
    >>> selector = RobustSelector().fit(X, np.where(wrong, 1 - y, y))
    >>> selector.rule_, bool(wrong[selector.kept_].mean() < 0.05)
    ('clean', True)
    """

    def __init__(
        self,
        *,
        keep: float | None = None,
        rule: str | Rule = RECOMMENDED,
        how: str = "drop",
        proxies: int = 3,
        epochs: int = 20,
        model: Any = None,
        ordinal: Any = None,
        store: str | Path | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.keep, self.rule, self.how = keep, rule, how
        self.proxies, self.epochs, self.model = proxies, epochs, model
        self.ordinal, self.store = ordinal, store
        self.random_state, self.n_jobs = random_state, n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose among these examples; labels may be numbers or text, X may be sparse.

        `sample_weight` scales `weights_` and does not change the choice, except that 0 leaves an
        example out. Examples of one of `groups`, such as a patient, stay in one fold.
        """
        _check_how(self.how, self.keep)
        x, given = _validate(self, X, y)
        counts = np.asarray(_check_sample_weight(sample_weight, x, dtype=np.float64))
        if counts.min() < 0 or not counts.any():
            raise InputError(
                "sample_weight must be 0 or more, and more somewhere, got "
                f"{counts.min():g} to {counts.max():g}"
            )
        at = np.flatnonzero(counts)
        self.classes_, labels = np.unique(given[at], return_inverse=True)
        models = self.model if isinstance(self.model, list | tuple) else (self.model,)
        models = () if self.model is None else tuple(models)
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        settings = Settings(proxies=self.proxies, epochs=self.epochs, models=models, seed=int(seed))
        table = sparse_table(x[at]) if hasattr(x, "tocsr") else as_single(x[at])
        data = LabelledData.of(table, labels, classes=tuple(map(str, self.classes_)), ids=at)
        if table.shape[1] < x.shape[1]:
            data = replace(data, features=(Feature("x", "components", table.shape[1]),))
        if groups is not None:
            own = _safe_indexing(groups, at)
            data = replace(data, groups=group_codes(own, len(at), None))
        order = self.ordinal
        if order is None:
            order = [value for value in ordered_categories(y) if value in self.classes_]
        if len(order):
            data = order_classes(data, [str(value) for value in order])
        decision = decide(
            data,
            keep=self.keep,
            rule=self.rule,
            settings=settings,
            workers=effective_n_jobs(self.n_jobs),
            store=self.store,
        )
        if decision.notes:
            notes = "; ".join(decision.notes)
            if decision.rule == EVERYTHING and ALL_KEPT not in notes:
                notes += "; all are kept"
            warnings.warn(notes, stacklevel=2)
        self.decision_ = decision
        self.kept_, self.rule_ = np.zeros(len(counts), dtype=np.bool_), decision.rule
        self.kept_[at[decision.kept]] = True
        self.weights_ = self.kept_.astype(np.float64)
        if self.how == "weights":
            self.weights_[at] = decision.sample_weight
        elif self.how == "importance" and decision.ensemble is not None:
            drawn = decision.weigh().probabilities
            self.weights_[at] = drawn * decision.kept.size
        self.weights_ *= counts
        return self

    def fit_resample(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Choose, and return the kept rows of X and y; imbalanced-learn's pipelines call this."""
        kept = np.flatnonzero(self.fit(X, y).kept_)
        return _rows(X, kept), _rows(y, kept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags


def _has(method: str) -> Any:
    """Whether the estimator within, fitted or not, has a method."""

    def check(self: "RobustClassifier") -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)  # its own AttributeError
        return True

    return check


def _delegate(method: str) -> Any:
    def call(self: "RobustClassifier", X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return getattr(self.estimator_, method)(X)  # type: ignore[no-any-return]

    call.__name__, call.__doc__ = method, f"""The estimator's own `{method}`, where it has it."""
    return available_if(_has(method))(call)


class RobustClassifier(MetaEstimatorMixin, ClassifierMixin, _Light):
    """Fit a classifier on the examples that `RobustSelector` keeps, or weights.

    Its options and attributes are the same here. The estimator sees X as it was given.

    Args:
        estimator: Any classifier; one that takes `sample_weight` unless how="drop" and no weights
            are given to `fit`. After `fit`, `estimator_` is the fitted clone.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(300) % 2
    >>> X = rng.normal(size=(300, 3)) + 2 * y[:, None]
    >>> given = np.where(np.arange(300) < 60, 1 - y, y)
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> RobustClassifier(tree).fit(X, given).score(X, y) > 0.9
    True
    >>> tree.fit(X, given).score(X, y)
    0.8
    """

    def __init__(
        self,
        estimator: Any,
        *,
        keep: float | None = None,
        rule: str | Rule = RECOMMENDED,
        how: str = "drop",
        proxies: int = 3,
        epochs: int = 20,
        model: Any = None,
        ordinal: Any = None,
        store: str | Path | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.keep, self.rule, self.how = keep, rule, how
        self.proxies, self.epochs, self.model = proxies, epochs, model
        self.ordinal, self.store = ordinal, store
        self.random_state, self.n_jobs = random_state, n_jobs

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **fit_params: Any
    ) -> Self:
        """Choose among the examples, and fit a clone of the estimator on the kept.

        `sample_weight`, `groups` and whatever else its `fit` takes reach the estimator for the
        kept; with metadata routing it gets what it requests by `set_fit_request`.
        """
        if isinstance(self.estimator, type) or not is_classifier(self.estimator):
            raise InputError(
                f"estimator must be a classifier, got {self.estimator!r}; pass one such as "
                "LogisticRegression()"
            )
        named = {"sample_weight": sample_weight, "groups": groups}
        params = fit_params | {name: one for name, one in named.items() if one is not None}
        if get_config()["enable_metadata_routing"]:
            params = dict(process_routing(self, "fit", **params).estimator.fit)
        elif not has_fit_parameter(self.estimator, "groups"):
            params.pop("groups", None)
        _check_how(self.how, self.keep)
        weighted = self.how != "drop" or "sample_weight" in params
        if weighted and not has_fit_parameter(self.estimator, "sample_weight"):
            raise InputError(
                f"{type(self.estimator).__name__} takes no sample_weight in fit; take how='drop' "
                "without sample_weight, or make this the last step of a pipeline"
            )
        _, given = _validate(self, X, y)
        options = self.get_params(deep=False)
        del options["estimator"]
        y = y if ordered_categories(y) else given
        chosen = RobustSelector(**options).fit(X, y, sample_weight, groups)
        for name in ("kept_", "weights_", "rule_", "decision_", "classes_"):
            setattr(self, name, getattr(chosen, name))
        used = chosen.weights_ if self.how == "weights" else chosen.kept_
        kept = np.flatnonzero(used)
        some = _check_method_params(X, params, indices=kept)
        if weighted:
            some["sample_weight"] = self.weights_[kept]
        self.estimator_ = clone(self.estimator).fit(_rows(X, kept), given[kept], **some)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Route weights to this estimator, and to the one within what it requests."""
        within = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=within)

    predict = _delegate("predict")
    predict_proba = _delegate("predict_proba")
    decision_function = _delegate("decision_function")

    @available_if(_has("score"))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The estimator's own score, for most the accuracy."""
        check_is_fitted(self)
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.estimator_.score(X, y, **weights)  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if is_classifier(self.estimator):
            within = get_tags(self.estimator)
            tags.classifier_tags = within.classifier_tags
            tags.input_tags.sparse = within.input_tags.sparse
        return tags


def _validate(estimator: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Return X as numbers and y as labels, and store the features' names on the estimator."""
    refuse_other_index(X, y)
    x, given = validate_data(estimator, X, y, accept_sparse="csr")
    check_classification_targets(given)
    return x, given


def _check_how(how: str, keep: float | None) -> None:
    if how not in HOW:
        near = suggest_name(str(how), HOW)
        raise InputError(f"how must be one of {', '.join(HOW)}, got {how!r}{near}")
    if how == "weights" and keep is not None:
        raise InputError("how='weights' uses every example; leave keep out, or take how='drop'")


def _rows(values: Any, kept: NDArray[np.int64]) -> Any:
    """Take rows of a frame, a series or a sparse matrix as one, of anything else as an array."""
    if hasattr(values, "tocsr"):
        return values.tocsr()[kept]
    frame = hasattr(values, "columns") or hasattr(values, "to_frame")
    return _safe_indexing(values if frame else np.asarray(values), kept)
