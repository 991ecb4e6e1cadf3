"""Packages that can be called: `dris.decide(data)` beside `dris.decide.decision`.

A package of the same name as a public function would hide it as soon as anybody imports a module
of the package; a package that passes calls on to the function cannot.
"""

import importlib
import sys
from types import ModuleType
from typing import Any


class Door(ModuleType):
    """A package whose call is that of one function in it, named by `__door__`."""

    __door__: str

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.__wrapped__(*given, **named)

    @property
    def __wrapped__(self) -> Any:
        """The function itself: `inspect` and `help` look here for its signature."""
        return getattr(importlib.import_module(self.__door__), self.__name__.rpartition(".")[2])


def make_callable(package: str, home: str) -> None:
    """Let calls of a package go to the function of its name in module `home`."""
    module = sys.modules[package]
    module.__class__ = Door
    module.__door__ = home  # type: ignore[attr-defined]
