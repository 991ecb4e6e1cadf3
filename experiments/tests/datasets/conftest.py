import os

import pytest

from experiments.datasets.catalogue import KNOWN, load, set_status

_DRIS_DATA = os.environ.get("DRIS_DATA")


@pytest.fixture(autouse=True)
def nothing_at_hand(monkeypatch, tmp_path):
    """No test sees the data of the machine unless it asks for it, nor a proxy."""
    monkeypatch.delenv("DRIS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture(scope="module")
def real():
    """Load a real data set, or skip with the reason."""

    def loaded(name):
        if not _DRIS_DATA:
            pytest.skip(f"DRIS_DATA is not set, so there is no real {name}")
        state = set_status(KNOWN[name], _DRIS_DATA)
        if state.state == "absent":
            pytest.skip(f"DRIS_DATA holds no {name}: {state.detail}")
        return load(name, data_dir=_DRIS_DATA, download=False)

    return loaded
