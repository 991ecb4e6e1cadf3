"""Features kept in a store: one file, named by the hash of everything that determines them."""

import hashlib
import json
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.array_file import read_arrays, write_arrays
from dris.core.errors import InputError
from dris.core.temporaries import remove_left
from dris.learn.store.run_store import Store

FORMAT = 1
_log = logging.getLogger("dris.store")


class FeatureFile:
    """The features that `key` determines, under `features/` of a store."""

    def __init__(self, store: Store, key: Mapping[str, str]) -> None:
        self._key = {**key, "format": FORMAT}
        name = hashlib.sha256(json.dumps(self._key, sort_keys=True).encode()).hexdigest()[:32]
        self.path = store.root / "features" / f"{name}.safetensors"

    def save(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Write them whole or not at all; they come back mapped, as `load` gives them.

        Two processes that compute the same write the same bytes, so neither has to wait.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        remove_left(self.path.parent)
        write_arrays(self.path, {"features": features}, self._note(features), format=FORMAT)
        return self._read()

    def load(self) -> NDArray[np.float32] | None:
        """The features, mapped and read-only, or None; a damaged file is set aside."""
        if not self.path.exists():
            return None
        try:
            return self._read()
        except InputError as error:
            aside = self.path.with_name(f"{self.path.name}.damaged")
            self.path.replace(aside)
            _log.warning(
                "%s set aside as %s, it is computed again: %s", self.path, aside.name, error
            )
            return None

    def _read(self) -> NDArray[np.float32]:
        arrays, note = read_arrays(self.path, kind="features", format=FORMAT)
        features = arrays.get("features")
        # Kind and shape stand outside the checksums, so the note says them too.
        if features is None or any(note.get(n) != v for n, v in self._note(features).items()):
            raise InputError(f"{self.path}: does not hold the features it is named after")
        return features

    def _note(self, features: NDArray[Any]) -> dict[str, Any]:
        return {"key": self._key, "shape": list(features.shape), "dtype": features.dtype.str}
