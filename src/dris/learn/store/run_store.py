"""A folder of runs, each named by the hash of everything that determines it.

`Run` (in `runs`) says how a run is kept; here is how it is found, listed and removed.
"""

import hashlib
import json
import os
import re
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dris.core.dynamics.dynamics_file import is_sealed
from dris.core.errors import InputError
from dris.core.files import plain_bytes
from dris.core.sanitize import from_json
from dris.learn.store.locks import LOCK, LockedError, folder_lock, is_lock, is_locked
from dris.learn.store.runs import DONE, FORMAT, KEY, Run, is_leftover, is_name

RunState = Literal["done", "unfinished", "running", "damaged", "other format"]
_NAME = re.compile(r"[0-9a-f]{32}")
_REMOVED = re.compile(r"\.[0-9a-f]{32}\.[0-9a-f]{32}\.removed")
_BLOCK = 1 << 22


@dataclass(frozen=True, slots=True)
class RunInfo:
    """One line of `Store.runs`."""

    name: str
    key: Mapping[str, Any] | None  # None when `key.json` cannot be trusted
    bytes: int
    state: RunState
    epoch: int | None  # the last full one
    age: float  # seconds since the last write


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What `Store.clean` removed: runs by name, single files as name/file, and their bytes."""

    removed: tuple[str, ...]
    bytes: int


class Store:
    """The runs under one folder: DRIS_STORE, or dris/runs in the user's cache, unless given."""

    def __init__(self, root: str | Path | None = None) -> None:
        if root is not None and not str(root):
            raise InputError("the store must be a folder, got an empty name; name one")
        if root is None and not (root := os.environ.get("DRIS_STORE")):
            cache = os.environ.get("XDG_CACHE_HOME")
            root = (Path(cache) if cache else Path.home() / ".cache") / "dris" / "runs"
        self.root = Path(root)
        if self.root.exists() and not self.root.is_dir():
            raise InputError(f"the store must be a folder, {self.root} is a file; name another one")
        self.found = self.trained = 0  # proxies, since it was opened

    def run(self, key: Mapping[str, Any]) -> Run:
        """The run that `key` determines; the same key is the same run, in whatever order."""
        return Run(self.root / _name_of(key, FORMAT), _plain(key, "key"))

    def runs(self) -> list[RunInfo]:
        """Every run, newest first; a run that cannot be read is listed as damaged."""
        infos = []
        for folder in self._folders(_NAME):
            with suppress(FileNotFoundError):  # cleaned away in between
                infos.append(_info(folder, running=is_locked(folder)))
        return sorted(infos, key=lambda info: (info.age, info.name))

    def clean(
        self, *, keep: Callable[[RunInfo], bool] | None = None, unfinished: bool = False
    ) -> Cleaned:
        """Remove what nobody can use: damaged runs, other formats, leftovers of killed work.

        With `keep`, also every run it says no to; with `unfinished`, also runs cut short. A run
        that some process holds, and whatever no run wrote, stays.
        """
        removed = [each for rest in self._folders(_REMOVED) for each in _empty(rest)]
        for folder in self._folders(_NAME):
            # Judged under the lock: a run that looked unfinished may just have been finished.
            left = False  # of it, where an open lock cannot be removed: Windows
            with suppress(LockedError), folder_lock(folder, wait=False):
                info = _info(folder, running=False)
                bad = {"damaged", "other format"} | ({"unfinished"} if unfinished else set())
                useless = info.state in bad or (keep is not None and not keep(info))
                removed += [_remove(folder)] if useless else _tidy(folder)
                left = useless and folder.exists()
            if left and [path.name for path in folder.iterdir()] == [LOCK]:
                _empty(folder)
        names = tuple(name for name, _ in removed)
        return Cleaned(names, sum(size for _, size in removed))

    def foreign(self) -> tuple[str, ...]:
        """The folders that have the name of a run and hold what no run wrote; never removed."""
        mine = self._folders(_NAME)
        named = [f for f in self._named(_NAME) if f not in mine]
        mixed = [f for f in [*mine, *self._folders(_REMOVED)] if _others(f)]
        return tuple(f.name for f in named + mixed)

    def _folders(self, pattern: re.Pattern[str]) -> list[Path]:
        """The folders of that name which are ours; a rest is, by a name that is drawn at random."""
        return [f for f in self._named(pattern) if pattern is _REMOVED or _is_run(f)]

    def _named(self, pattern: re.Pattern[str]) -> list[Path]:
        found = sorted(self.root.iterdir()) if self.root.is_dir() else []
        return [f for f in found if pattern.fullmatch(f.name) and f.is_dir()]


def fingerprint(*arrays: ArrayLike) -> str:
    """A hash of data: kind, shape and every byte, however the arrays lie in memory."""
    digest = hashlib.sha256()
    for value in arrays:
        a = np.asarray(value)
        if a.dtype.kind in "OV":
            raise InputError(f"cannot fingerprint dtype {a.dtype}; use numbers or fixed-width text")
        digest.update(f"{a.dtype.str} {a.shape}\n".encode())
        if a.size:
            rows = a.reshape(1, -1) if a.flags.c_contiguous else a
            step = max(1, _BLOCK * len(rows) // rows.nbytes)
            for start in range(0, len(rows), step):
                block = np.ascontiguousarray(rows[start : start + step])
                digest.update(block.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _name_of(key: Mapping[str, Any], format: int) -> str:
    text = json.dumps({"format": format, "key": _plain(key, "key")}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _plain(value: Any, where: str) -> Any:
    """The value in JSON's own types; whatever two keys could share by accident is refused."""
    if isinstance(value, Mapping):
        if odd := [name for name in value if not isinstance(name, str)]:
            raise InputError(f"{where} must be named by strings, got {odd[0]!r}; use str()")
        return {name: _plain(v, f"{where}.{name}") for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, f"{where}[{i}]") for i, v in enumerate(value)]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and np.isfinite(value):
        return value
    raise InputError(
        f"{where} must be plain JSON, got {type(value).__name__} {value!r:.60}; convert it with "
        "int(), float() or str(), and arrays with fingerprint()"
    )


def _info(folder: Path, *, running: bool) -> RunInfo:
    key, format = _key_of(folder)
    state: RunState = "damaged"
    epoch = None
    with suppress(InputError, FileNotFoundError):
        epoch = Run(folder, key or {}).epoch
        state = "done" if (folder / DONE).exists() else "unfinished"
    if key is None:
        state = "damaged"
    elif format != FORMAT:
        state = "other format"
    if running:
        state = "running"
    files = _files(folder)
    age = max(0.0, time.time() - max((f.st_mtime for f in files), default=time.time()))
    return RunInfo(folder.name, key, sum(f.st_size for f in files), state, epoch, age)


def _key_of(folder: Path) -> tuple[Mapping[str, Any] | None, int]:
    """The key and its format; the folder's name is the checksum."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        held = from_json(plain_bytes(folder / KEY))
        if _name_of(held["key"], held["format"]) == folder.name:
            return held["key"], held["format"]
    return None, FORMAT


def _files(folder: Path, *, own: bool = False) -> list[os.stat_result]:
    """All but the lock; only what a run wrote, if asked."""
    files = []
    for path in folder.iterdir():
        if path.name != LOCK and (not own or _is_own(path.name)):
            with suppress(FileNotFoundError):  # a running process may have renamed it by now
                files.append(path.stat())
    return files


def _is_run(folder: Path) -> bool:
    """True if a run made this folder: by its key, by a sealed file, or by nothing but a lock."""
    if folder.is_symlink() or _key_of(folder)[0] is not None:
        return not folder.is_symlink()
    names: set[str] = set()
    with suppress(OSError):  # cleaned away in between, or not for us to read
        names = {path.name for path in folder.iterdir()}
    if any(is_sealed(folder / name) for name in names if is_name(name)):
        return True
    begun = LOCK in names and is_lock(folder / LOCK)
    return begun and all(name == LOCK or is_leftover(name) for name in names)


def _others(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir() or not _is_own(path.name)]
    except FileNotFoundError:
        return []


def _is_own(name: str) -> bool:
    return name == LOCK or is_name(name) or is_leftover(name)


def _remove(folder: Path) -> tuple[str, int]:
    """Remove a run in one step, under its lock: killed half-way, only a marked rest is left."""
    size = sum(f.st_size for f in _files(folder))
    if _others(folder):  # a person's files keep their place, and the run's go from around them
        return folder.name, sum(size for _, size in _empty(folder))
    name = folder.name
    try:
        folder = folder.rename(folder.with_name(f".{name}.{uuid.uuid4().hex}.removed"))
    except PermissionError:  # Windows renames no folder whose lock is open
        (folder / DONE).unlink(missing_ok=True)  # first: the rest is not taken for a whole run
    _empty(folder)
    return name, size


def _empty(folder: Path) -> list[tuple[str, int]]:
    size = sum(f.st_size for f in _files(folder, own=True))
    before = list(folder.iterdir())
    for path in before:
        if _is_own(path.name) and not path.is_dir():
            try:
                path.unlink(missing_ok=True)
            except PermissionError:
                if path.name != LOCK:  # which is open, and goes when it is let go
                    raise
    with suppress(OSError):
        folder.rmdir()
    return [(folder.name, size)] if len(_others(folder)) < len(before) or not before else []


def _tidy(folder: Path) -> list[tuple[str, int]]:
    removed = []
    for path in sorted(path for path in folder.iterdir() if is_leftover(path.name)):
        removed.append((f"{folder.name}/{path.name}", path.stat().st_size))
        path.unlink()
    return removed
