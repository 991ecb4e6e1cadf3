"""Optional packages: a missing one is named together with the extra that brings it."""

import importlib
from types import ModuleType

from dris.core.errors import InputError


class MissingExtraError(ModuleNotFoundError, InputError):
    """An optional package is not installed; the message says what to install."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional module, or say which extra of dris brings it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing.partition(".")[0] != module.partition(".")[0]:
            raise
        raise MissingExtraError(
            f'{missing} is not installed; in the clone of dris: pip install ".[{extra}]"',
            name=missing,
        ) from None
