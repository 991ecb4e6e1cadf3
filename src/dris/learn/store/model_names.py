"""A model in words that determine it: what a run is found again by."""

from typing import Any

from dris.learn.trainers.registry import kind_of


def name_of(model: Any) -> str:
    """A model in words that determine it: a name, an estimator's parameters, an import path.

    >>> from functools import partial
    >>> name_of("resnet20")
    'resnet20'
    >>> name_of(partial(parameters_of, model=3))
    'dris.learn.store.model_names:parameters_of(model=3)'
    """
    return model if isinstance(model, str) else kind_of(model).named(model)


def refuse_unnamed(model: Any) -> None:
    """Stop at a model that a run could not be found again by: two of them may share a name.

    >>> refuse_unnamed("resnet20")
    """
    kind_of(model).refuse_unnamed(model)


def code_of(model: Any) -> str | None:
    """A hash of the source of a user's own function or class: edited, it is another model.

    None for models of dris and where there is no source. What the function calls is not seen.

    >>> code_of("resnet20") is None
    True
    """
    return kind_of(model).code(model)


def parameters_of(model: Any) -> dict[str, str] | None:
    """What a model's name leaves out: an estimator's parameters in full.

    >>> parameters_of("resnet20") is None
    True
    """
    return None if isinstance(model, str) else kind_of(model).parameters(model)
