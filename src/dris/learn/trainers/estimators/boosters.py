"""XGBoost, LightGBM and CatBoost as proxies: raw scores after a number of boosting rounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.learn.extras import require


@dataclass(frozen=True, slots=True)
class Booster:
    """How one library is used."""

    make: Callable[[], Any]  # an unfitted classifier
    rounds: Callable[[Any], int]  # of a fitted one
    raw: Callable[[Any, NDArray[Any], int], Any]  # scores after rounds: (N,) for two classes
    seed: str = "random_state"  # the parameter


def _xgboost() -> Any:
    return require("xgboost", "boosters").XGBClassifier(
        n_estimators=40, max_depth=4, subsample=0.5, n_jobs=1
    )


def _lightgbm() -> Any:
    return require("lightgbm", "boosters").LGBMClassifier(
        n_estimators=40,
        num_leaves=15,
        subsample=0.5,
        subsample_freq=1,
        n_jobs=1,
        deterministic=True,
        force_col_wise=True,
        verbosity=-1,
    )


def _catboost() -> Any:
    return require("catboost", "catboost").CatBoostClassifier(
        iterations=40,
        max_depth=4,
        bootstrap_type="Bernoulli",
        subsample=0.5,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )


BOOSTERS: dict[str, Booster] = {
    "xgboost": Booster(
        _xgboost,
        lambda model: model.get_booster().num_boosted_rounds(),
        lambda model, x, r: model.predict(x, output_margin=True, iteration_range=(0, r)),
    ),
    "lightgbm": Booster(
        _lightgbm,
        lambda model: model.booster_.current_iteration(),
        lambda model, x, r: model.booster_.predict(x, raw_score=True, num_iteration=r),
    ),
    "catboost": Booster(
        _catboost,
        lambda model: model.tree_count_,
        lambda model, x, r: model.predict(x, prediction_type="RawFormulaVal", ntree_end=r),
        seed="random_seed",
    ),
}


def booster_of(model: Any) -> Booster | None:
    """The entry of a classifier by the package that its class is from; None for any other."""
    packages = {each.__module__.partition(".")[0] for each in type(model).__mro__}
    return next((entry for name, entry in BOOSTERS.items() if name in packages), None)


def scores_after(model: Any, x: NDArray[Any], rounds: int) -> NDArray[np.float64]:
    """Raw scores of a fitted booster after its first rounds."""
    entry = booster_of(model)
    assert entry is not None
    return np.asarray(entry.raw(model, x, rounds), dtype=np.float64)
