"""A model in words that determine it: what a run is found again by."""

import inspect
from functools import partial
from typing import Any

from dris.core.errors import InputError
from dris.learn.estimators.staged import is_estimator
from dris.learn.stacked.head_models import is_head
from dris.learn.store.run_store import fingerprint


def name_of(model: Any) -> str:
    """A model in words that determine it: a name, an estimator's parameters, an import path.

    >>> name_of("resnet20")
    'resnet20'
    >>> name_of(partial(parameters_of, model=3))
    'dris.learn.store.model_names:parameters_of(model=3)'
    """
    if isinstance(model, str):
        return model
    if is_head(model):
        return repr(model)
    if is_estimator(model) and not isinstance(model, type):
        return " ".join(repr(model).split())
    if isinstance(model, partial):
        given = [repr(a) for a in model.args]
        given += [f"{name}={value!r}" for name, value in sorted(model.keywords.items())]
        return f"{name_of(model.func)}({', '.join(given)})"
    named = model if hasattr(model, "__qualname__") else type(model)
    return f"{named.__module__}:{named.__qualname__}"


def refuse_unnamed(model: Any) -> None:
    """Stop at a model that a run could not be found again by: two of them may share a name.

    >>> refuse_unnamed("resnet20")
    """
    function = model
    while isinstance(function, partial):
        function = function.func
    if isinstance(function, str) or is_estimator(function) or is_head(function):
        return
    unnamed = "<" in name_of(function) or not hasattr(function, "__qualname__")
    if unnamed or " at 0x" in name_of(model):
        raise InputError(
            f"a store finds runs by the model's name, and {name_of(model)} may mean several "
            "models; name the function: write it with def at the top of a module, and give "
            "numbers to it with functools.partial"
        )


def code_of(model: Any) -> str | None:
    """A hash of the source of a user's own function or class: edited, it is another model.

    None for models of dris and where there is no source. What the function calls is not seen.

    >>> code_of("resnet20") is None
    True
    """
    ours = isinstance(model, str) and ":" not in model
    if ours or is_estimator(model) or is_head(model):
        return None
    from dris.learn.networks.models.registry import builder_of

    function = builder_of(model)[0]
    while isinstance(function, partial):
        function = function.func
    try:
        return fingerprint(inspect.getsource(function))
    except (OSError, TypeError):
        return None


def parameters_of(model: Any) -> dict[str, str] | None:
    """An estimator's parameters in full: its own words leave out the middle of long ones.

    >>> parameters_of("resnet20") is None
    True
    """
    if not is_estimator(model) or isinstance(model, str):
        return None
    return {n: repr(v) for n, v in model.get_params().items() if n != "random_state"}
