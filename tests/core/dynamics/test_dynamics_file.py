"""One file per Dynamics: nothing lost, nothing half-written, no damage unnoticed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open

from dris.core.dynamics import dynamics_file as array_file
from dris.core.dynamics.dynamics import Dynamics
from dris.core.errors import InputError


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    """Hundreds of small saves; the killed child below still waits for its disk."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def logits(seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=(2, 3, 4, 3)).astype(dtype)


def full(dtype=np.float32, **more):
    return Dynamics.from_logits(logits(dtype=dtype), [0, 1, 2, 0], **more)


FORMS = {
    "losses alone": lambda: Dynamics.from_losses(np.eye(3)),
    "float32": full,
    "float64": lambda: full(np.float64),
    "whole ids": lambda: full(ids=[7, -3, 2**62, 0]),
    "unicode ids": lambda: full(ids=["é", "日本語", "a b", "🦆"]),
    "an empty id": lambda: full(ids=["", "a", "aa", "aaa"]),
    "ids from unreadable file names": lambda: full(ids=["a\udcff", "b", "\ud800", "\U0001f986"]),
    "only an empty id": lambda: Dynamics.from_losses([[1.0], [2.0]], ids=[""]),
    "summary": lambda: full().summary(),
    "summary without margins": lambda: Dynamics.from_arrays(loss=np.ones((2, 3, 4))).summary(),
    "chosen epochs": lambda: full(epochs=[5, 10, 20], scored_epoch=20),
    "provenance": lambda: full(provenance={"né": [1, 2.5, None, {"b": True}], "0" * 64: "0" * 64}),
    "numbered provenance": lambda: full(provenance={"per epoch": {9: 1, 10: 2}}),
    "strided": lambda: Dynamics.from_arrays(loss=np.arange(24.0).reshape(4, 3, 2).T),
}


def assert_same(a, b):
    assert sorted(a.columns) == sorted(b.columns)
    for name, column in a.columns.items():
        assert np.array_equal(column, b.columns[name])
        assert column.dtype == b.columns[name].dtype
    assert a.ids.tolist() == b.ids.tolist()
    assert a.ids.dtype.kind == b.ids.dtype.kind
    assert (a.epochs, a.scored_epoch) == (b.epochs, b.scored_epoch)
    assert (a.labels is None) == (b.labels is None)
    assert a.labels is None or np.array_equal(a.labels, b.labels)
    assert json.loads(json.dumps(dict(a.provenance))) == b.provenance
    assert a.is_summary == b.is_summary
    for name in ("epochs", "margin", "forgotten", "learned"):
        x, y = getattr(a.totals(), name), getattr(b.totals(), name)
        assert (x is None) == (y is None)
        assert x is None or np.array_equal(x, y)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_comes_back_as_it_was_in_the_same_bytes_that_any_reader_opens(form, tmp_path):
    dynamics = FORMS[form]()
    path = dynamics.save(tmp_path / "run.dynamics")
    loaded = Dynamics.load(str(path))
    assert_same(dynamics, loaded)
    for again in (FORMS[form](), loaded):
        assert again.save(tmp_path / "again").read_bytes() == path.read_bytes()
    other = replace(dynamics, provenance={"other": 1}).save(tmp_path / "other")
    assert other.read_bytes() != path.read_bytes()
    with safe_open(path, framework="numpy") as file:
        assert json.loads(file.metadata()["dris"])["epochs"] == list(dynamics.epochs)
        for name, column in dynamics.columns.items():
            assert np.array_equal(file.get_tensor(f"column.{name}"), column)


def test_what_is_loaded_is_mapped_and_cannot_be_written_to(tmp_path):
    loaded = Dynamics.load(full().save(tmp_path / "run"))
    for column in loaded.columns.values():
        assert not column.flags.owndata
        with pytest.raises(ValueError, match="read-only"):
            column[:] = 0
    base = loaded.loss
    while isinstance(base, np.ndarray):
        base = base.base
    assert type(getattr(base, "obj", base)).__name__ == "mmap"


def test_a_loaded_file_may_be_saved_over_itself(tmp_path):
    path = full().save(tmp_path / "run")
    loaded = Dynamics.load(path)
    loaded.at(1).save(path)
    assert Dynamics.load(path).scored_epoch == 1
    assert np.array_equal(loaded.loss, full().loss)


SAVE_FOREVER = """
import sys
import numpy as np
from dris.core.dynamics.dynamics import Dynamics
variants = [Dynamics.from_losses(np.full((2, 20_000), float(v))) for v in (1, 2)]
while True:
    for v in variants:
        v.save(sys.argv[1])
        print(flush=True)
"""


def test_a_process_killed_while_saving_always_leaves_a_whole_file(tmp_path):
    path = tmp_path / "run"
    rng = np.random.default_rng(0)
    for _ in range(4):
        child = subprocess.Popen([sys.executable, "-c", SAVE_FOREVER, path], stdout=subprocess.PIPE)
        with child:
            child.stdout.readline()
            time.sleep(rng.uniform(0, 0.03))
            child.send_signal(signal.SIGKILL)
        assert len(np.unique(Dynamics.load(path).loss)) == 1


def refused(path):
    with pytest.raises(InputError) as caught:
        Dynamics.load(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message


def test_the_checksums_are_what_notices(tmp_path, monkeypatch):
    # The twin: with checksums that accept anything, a flipped data byte comes back as a value.
    path = full().save(tmp_path / "run")
    whole = bytearray(path.read_bytes())
    whole[-1] ^= 1
    path.write_bytes(whole)
    assert "damaged (checksum)" in refused(path)
    parse = array_file.from_json

    class Yes(str):
        __ne__ = lambda *_: False  # noqa: E731
        __eq__ = lambda *_: True  # noqa: E731
        __hash__ = str.__hash__

    def trusting(text):
        out = parse(text)
        return {**out, "sha256": {n: Yes() for n in out["sha256"]}} if "format" in out else out

    monkeypatch.setattr(array_file, "from_json", trusting)
    assert not np.array_equal(Dynamics.load(path).correct, full().correct)


@pytest.mark.parametrize(
    "value", [np.float32(1), {1, 2}, float("nan"), float("inf"), b"bytes", object(), np.arange(3)]
)
def test_provenance_that_json_cannot_hold_is_refused_and_nothing_written(value, tmp_path):
    with pytest.raises(InputError, match="provenance must be plain JSON"):
        full(provenance={"x": value}).save(tmp_path / "run")
    assert os.listdir(tmp_path) == []
