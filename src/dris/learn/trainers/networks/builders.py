"""Models by name, by the user's own function, or by import path; weights drawn from a seed.

Nothing here imports torch before a network is asked for.
"""

import importlib
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dris.core.errors import InputError
from dris.core.streams import seed_for
from dris.learn.extras import require

if TYPE_CHECKING:
    from torch import nn

# What makes a model: (input_shape, classes) to a fresh `nn.Module`. The shape is one example's:
# (channels, height, width), or (features,).
Builder = Callable[[tuple[int, ...], int], Any]
_OURS = "dris.learn.trainers.networks.models:"
MODELS = {"fc": _OURS + "fully_connected"}
MODELS |= {name: _OURS + name for name in ("linear", "resnet20", "small_cnn")}


def build_model(
    spec: str | Builder, input_shape: Sequence[int], classes: int, *, seed: int
) -> "nn.Module":
    """A freshly initialised model: one of `MODELS`, a function, or "package.module:function".

    The weights depend on the seed alone, on every device, and torch's own random state is left as
    it was.
    """
    torch = require("torch", "torch")
    builder, name = builder_of(spec)
    state = seed_for(seed, "initial weights")
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        # Not torch.manual_seed: that would reseed the GPUs too, which nothing here restores.
        torch.default_generator.manual_seed(state)
        model = builder(tuple(input_shape), classes)
    if not isinstance(model, torch.nn.Module):
        raise InputError(
            f"the model function {name} must return an nn.Module, got {type(model).__name__}"
        )
    return model  # type: ignore[no-any-return]


def builder_of(spec: Any) -> tuple[Builder, str]:
    """The function that a spec means, and its name; raises if it takes other arguments."""
    torch = require("torch", "torch")
    if isinstance(spec, torch.nn.Module):
        raise InputError(
            f"model must be a function that builds it, got a built {type(spec).__name__}; "
            "pass its class or a function of (input_shape, classes)"
        )
    if isinstance(spec, str):
        if ":" not in spec and spec not in MODELS:
            raise InputError(
                f"model must be one of {', '.join(sorted(MODELS))}, or package.module:function, "
                f"got {spec!r}"
            )
        builder, name = _import(MODELS.get(spec, spec)), spec
    elif callable(spec):
        builder, name = spec, getattr(spec, "__qualname__", repr(spec))
    else:
        raise InputError(f"model must be a name or a function, got {spec!r}")
    try:
        signature = inspect.signature(builder)
    except (TypeError, ValueError):
        return builder, name  # written in C, say: calling it will tell
    try:
        signature.bind((1,), 2)
    except TypeError:
        raise InputError(
            f"the model function {name} must take (input_shape, classes), its signature is "
            f"{signature}; wrap it: lambda input_shape, classes: ..."
        ) from None
    return builder, name


def _import(path: str) -> Builder:
    module_name, _, attribute = path.partition(":")
    try:
        function = operator.attrgetter(attribute)(importlib.import_module(module_name))
    except Exception as error:  # importing runs the user's code: anything may come out of it
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(
            f"model {path!r} cannot be imported ({reason}); "
            "it must read package.module:function and be on the Python path"
        ) from error
    if isinstance(function, require("torch", "torch").nn.Module) or not callable(function):
        raise InputError(f"model {path!r} must name a function, got {type(function).__name__}")
    return function  # type: ignore[no-any-return]
