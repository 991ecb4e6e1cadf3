"""One run: work done in epochs, such as a proxy's or a target's training, that survives a kill.

Whoever finds it not `done` takes the lock, asks again, goes on from `checkpoint`, saves each epoch
and finishes. An epoch is saved as its record first, then the state that replaces the one before:
the state is what makes the epoch count, and it never counts one whose record is not there. A
finished run is its result first; what is left of the epochs goes, and the mark `done` comes last.
"""

import hashlib
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.dynamics.dynamics import Dynamics
from dris.core.dynamics.dynamics_file import read_arrays, write_arrays
from dris.core.errors import InputError
from dris.core.files import plain_bytes, write_atomically
from dris.core.sanitize import from_json
from dris.learn.store.locks import folder_lock

FORMAT = 1
KEY = "key.json"
RECORDS = "epoch-*.safetensors"
STATE = "state.safetensors"
DYNAMICS = "dynamics.safetensors"
OUTCOME = "outcome.safetensors"
TIMING = "timing.json"
DONE = "done.json"
_OWN = r"(key|timing|done)\.json|(state|dynamics|outcome|epoch-[0-9]+)\.safetensors"
_NAME = re.compile(_OWN)
_LEFTOVER = re.compile(rf"({_OWN})(\.[0-9]+)?\.damaged|\.({_OWN})\.[0-9a-f]{{32}}\.tmp")
_log = logging.getLogger("dris.store")
Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """Where a run stands: its last full epoch, the state after it, every epoch's record."""

    epoch: int
    state: dict[str, NDArray[Any]]
    records: tuple[dict[str, NDArray[Any]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The result of a run that has no dynamics, such as a target's."""

    epochs: int  # that the run has trained
    arrays: Arrays
    note: Mapping[str, Any]  # values that JSON can hold


class Run:
    """A folder of the store; `Store.run` makes it. Nothing is written before `locked`."""

    def __init__(self, folder: Path, key: Mapping[str, Any]) -> None:
        self.folder, self.key = folder, key
        self._holds, self._saved = False, 0

    def __repr__(self) -> str:
        return f"Run({self.folder.name})"

    @property
    def done(self) -> bool:
        """True if the result is there, to the last byte; a damaged one is not there."""
        try:
            return plain_bytes(self.folder / DONE) == _mark_for(self._result)
        except FileNotFoundError:
            return False

    @property
    def epoch(self) -> int:
        """The last full epoch on disk, 0 before the first; damaged files are an error."""
        if (self.folder / DONE).exists() and not self.done:
            raise self._unfinished()
        if self._result.exists():
            return self._epochs_of_result()
        return self._read(STATE)[0] if (self.folder / STATE).exists() else 0

    def load(self) -> Dynamics:
        """The dynamics of a run that is done, memory-mapped."""
        dynamics = self.read()
        if dynamics is None:
            raise self._unfinished()
        return dynamics

    def read(self) -> Dynamics | None:
        """The dynamics if the run is done and whole, memory-mapped; every byte is read once.

        No lock is needed: the mark `done` is written last, and what it marks is never changed.
        """
        try:
            mark = from_json(plain_bytes(self.folder / DONE))
            if (self.folder / DYNAMICS).stat().st_size != mark["bytes"]:
                return None
            return Dynamics.load(self.folder / DYNAMICS)
        except (OSError, ValueError, KeyError, TypeError):  # InputError, of damage, is a ValueError
            return None

    def outcome(self) -> Outcome:
        """The outcome of a run that is done, memory-mapped."""
        if not self.done:
            raise self._unfinished()
        return self._read_outcome()

    def array(self, name: str, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        """The one array of a run, from the store, or from `make` and kept."""
        if not self.done:
            with self.locked():
                if not self.done:  # another process may have been faster
                    begin = time.monotonic()
                    made = Outcome(1, {name: make()}, {})
                    self.finish(made, seconds=time.monotonic() - begin)
        return self.outcome().arrays[name]

    def checkpoint(self) -> Checkpoint | None:
        """Where to go on, or None to start at epoch 1; what is damaged is set aside."""
        self._must_hold("checkpoint")
        self._saved = 0
        if not (self.folder / STATE).exists():
            return None
        try:
            epoch, state, _ = self._read(STATE)
        except InputError as error:
            self._set_aside(STATE, error)
            return None
        records = []
        for e in range(1, epoch + 1):
            try:
                records.append(self._read(_record(e), epoch=e)[1])
            except InputError as error:
                # The one state is past this epoch: only a new start can record it again.
                (self.folder / STATE).unlink()
                self._set_aside(_record(e), error)
                return None
        self._saved = epoch
        return Checkpoint(epoch, {n: np.array(a) for n, a in state.items()}, tuple(records))

    @contextmanager
    def locked(self, *, wait: bool = True) -> Iterator[None]:
        """Hold the run against other processes, and mend what a killed one left behind.

        Without `wait`, a run that another process holds is an error. Ask `done` again inside.
        """
        if self._holds:
            raise InputError(f"{self!r} is locked already; lock it once, around all its epochs")
        with folder_lock(self.folder, wait=wait):
            self._holds, self._saved = True, 0
            try:
                self._mend()
                yield
            finally:
                self._holds = False

    def save_epochs(self, records: Sequence[Arrays], state: Arrays) -> None:
        """Keep the records of the epochs after the last saved, and the state to go on from."""
        self._must_hold("save_epochs")
        first = self._saved + 1
        epochs = str(first) if len(records) == 1 else f"{first} and those after it"
        with _explaining(f"epoch {epochs} could not be saved, the epochs before it are kept"):
            if first == 1:
                (self.folder / STATE).unlink(missing_ok=True)
            for epoch, record in enumerate(records, first):
                self._write(_record(epoch), record, epoch)
            self._write(STATE, state, first + len(records) - 1)
        self._saved = first + len(records) - 1

    def finish(self, result: Dynamics | Outcome, *, seconds: float) -> None:
        """Keep the result, drop the epochs; the time it took goes into a file of its own."""
        self._must_hold("finish")
        with _explaining("the result could not be saved, all epochs are kept"):
            # A result in place is a finished run, so the time it took must be there before.
            write_atomically(self.folder / TIMING, [_json({"seconds": float(seconds)})])
            if isinstance(result, Dynamics):
                result.save(self.folder / DYNAMICS)
            else:
                self._write(OUTCOME, result.arrays, result.epochs, result.note)
        with _explaining("the result is kept, but could not be marked as done"):
            self._seal()

    @property
    def _result(self) -> Path:
        outcome = self.folder / OUTCOME
        return outcome if outcome.exists() else self.folder / DYNAMICS

    def _epochs_of_result(self) -> int:
        if self._result.name == OUTCOME:
            return self._read_outcome().epochs
        return Dynamics.load(self._result).totals_epochs

    def _read_outcome(self) -> Outcome:
        epochs, arrays, note = self._read(OUTCOME)
        return Outcome(epochs, arrays, note["note"])

    def _unfinished(self) -> InputError:
        return InputError(f"{self.folder} holds no finished run; compute it first")

    def _mend(self) -> None:
        for path in self.folder.iterdir():
            if is_leftover(path.name) and path.suffix == ".tmp":
                path.unlink()
        key = self.folder / KEY
        wanted = _json({"format": FORMAT, "key": self.key})
        if not key.is_file() or key.read_bytes() != wanted:
            if key.exists():
                self._set_aside(KEY, "not the key this folder is named after")
            write_atomically(key, [wanted])
        if (self.folder / DONE).exists():
            if not self.done:
                self._set_aside(self._result.name, "its checksum is not that of the mark done")
                (self.folder / DONE).unlink()
        elif self._result.exists():
            try:
                self._epochs_of_result()
            except InputError as error:
                self._set_aside(self._result.name, error)
            else:
                self._seal()

    def _seal(self) -> None:
        """The end of `finish`, also for a process killed in it: its result is complete."""
        for path in (self.folder / STATE, *sorted(self.folder.glob(RECORDS))):
            path.unlink(missing_ok=True)
        write_atomically(self.folder / DONE, [_mark_for(self._result)])

    def _set_aside(self, name: str, why: InputError | str) -> None:
        path, n = self.folder / name, 1
        while (aside := path.with_name(f"{name}{f'.{n}' if n > 1 else ''}.damaged")).exists():
            n += 1
        if path.exists():
            path.rename(aside)
        _log.warning("%s set aside as %s, it is computed again: %s", path, aside.name, why)

    def _write(
        self, name: str, arrays: Arrays, epoch: int, note: Mapping[str, Any] | None = None
    ) -> None:
        arrays = {n: np.asarray(a) for n, a in arrays.items()}
        more = {} if note is None else {"note": note}
        about = {"run": self.folder.name, "epoch": epoch, **more}
        write_arrays(self.folder / name, arrays, about, format=FORMAT)

    def _read(
        self, name: str, epoch: int | None = None
    ) -> tuple[int, dict[str, NDArray[Any]], dict[str, Any]]:
        path = self.folder / name
        arrays, note = read_arrays(path, kind="checkpoint", format=FORMAT)
        if note.get("run") != self.folder.name or epoch not in (None, note["epoch"]):
            raise InputError(f"{path}: belongs to another run or epoch")
        return int(note["epoch"]), arrays, note

    def _must_hold(self, what: str) -> None:
        if not self._holds:
            raise InputError(f"run.{what} needs the lock; call it inside `with run.locked():`")


def is_name(name: str) -> bool:
    """True if a run keeps a file of this name; whatever else is in its folder is a person's."""
    return _NAME.fullmatch(name) is not None


def is_leftover(name: str) -> bool:
    """True if a file was set aside as damaged, or left by a run that was killed."""
    return _LEFTOVER.fullmatch(name) is not None


def _record(epoch: int) -> str:
    return RECORDS.replace("*", f"{epoch:05}")


def _mark_for(path: Path) -> bytes:
    if not path.is_file():
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return _json({"bytes": file.tell(), "sha256": digest})


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n").encode()


@contextmanager
def _explaining(what: str) -> Iterator[None]:
    """Say what an error of the disk means for the run."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise OSError(error.errno, f"{what} ({reason})", error.filename) from error
