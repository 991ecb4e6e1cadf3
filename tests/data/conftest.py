import pytest


@pytest.fixture(autouse=True)
def nothing_at_hand(monkeypatch, tmp_path):
    """No test sees the data of the machine unless it asks for it, nor a proxy."""
    monkeypatch.delenv("DRIS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
