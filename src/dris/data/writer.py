"""The one door through which commands write: what dris did not write is never replaced.

Beside its outputs dris keeps `.dris-written.json`, the SHA-256 of each file it wrote there. A file
not listed is foreign, one with other bytes was edited. Neither is replaced, nor what a command
reads; an output as dris left it is, with `force`.
"""

import glob
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dris.core.errors import InputError
from dris.core.files import remove_left, temporary_for, write_atomically
from dris.core.sanitize import from_json
from dris.data.files import PathLike, expanded, writing

MANIFEST = ".dris-written.json"
FORMAT = 1
_NOTE = "SHA-256 of the files that dris wrote here: it replaces no others, and none edited since."
_ELSEWHERE = "name another output"


@dataclass(frozen=True, slots=True)
class Writer:
    """What one command may write: its wish to replace its own outputs, and all that it reads."""

    force: bool = False
    inputs: tuple[Path, ...] = ()
    held: dict[Path, Path] | None = None  # what waits for the others, by its temporary name

    @contextmanager
    def together(self) -> Iterator["Writer"]:
        """A writer for a set of outputs: none is seen before all are written.

        They are listed at once, then renamed one by one; killed between, the next command ends it.
        """
        held: dict[Path, Path] = {}
        try:
            yield replace(self, held=held)
            self.publish(held, whole=True)
        finally:
            for temporary in held:
                temporary.unlink(missing_ok=True)

    def reading(self, *paths: PathLike | None) -> "Writer":
        """The same writer of a command that reads these too: files, folders, patterns."""
        inputs = list(self.inputs)
        for given in (expanded(path) for path in paths if path is not None):
            inputs += [given] if os.path.lexists(given) else map(Path, glob.glob(str(given)))
        return replace(self, inputs=tuple(inputs))

    def refuse(self, *paths: PathLike) -> None:
        """Stop before the work when one of its results could not be written."""
        targets = [expanded(path) for path in paths]
        for place, target in enumerate(targets):
            if why := self.refusal(target):
                raise InputError(why)
            if target in targets[:place]:
                raise InputError(f"{target} would be written twice; {_ELSEWHERE}")

    def refusal(self, target: Path) -> str | None:
        """Why a file may not be written, in one sentence; None when it may."""
        with writing(target):
            if target.name == MANIFEST:
                return f"{target} is where dris lists what it wrote; {_ELSEWHERE}"
            if target.is_dir():
                return f"{target} is a folder; name a file to write"
            if not os.path.lexists(target):
                return None
            if why := self._read_from(target):
                return f"{target} {why} and is never replaced; {_ELSEWHERE}"
            if why := _not_ours(target):
                return f"{target} {why} and is never replaced; move it away, or {_ELSEWHERE}"
            if not self.force and target.name not in _noted(target.parent)["unfinished"]:
                return f"{target} exists; pass `force=True` to replace it, or {_ELSEWHERE}"
        return None

    @contextmanager
    def file(self, path: PathLike) -> Iterator[Path]:
        """A temporary name to write to, renamed at the end; nothing stays after a failure."""
        target = expanded(path)
        with writing(target):
            if not target.parent.is_dir():
                raise InputError(f"{target.parent}: no such folder; create it first")
            self.refuse(target)
            temporary = temporary_for(target)
            try:
                yield temporary
                if self.held is None:
                    self.publish({temporary: target}, whole=not self.force)
                else:
                    self.held[temporary] = target
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise

    def write(self, path: PathLike, pieces: Iterable[bytes | memoryview]) -> Path:
        """Write the pieces one after the other, whole or not at all."""
        with self.file(path) as temporary, temporary.open("xb") as out:
            for piece in pieces:
                out.write(piece)
        return expanded(path)

    def publish(
        self,
        fresh: Mapping[Path, Path],
        *,
        digests: Mapping[Path, str] | None = None,
        whole: bool = False,
    ) -> None:
        """Give finished files their names (temporary name: output); their SHA-256 where known.

        An output that has these very bytes is left as it is. With `whole` the files are a set:
        until the last has its name, its half may be replaced.
        """
        folders = list(dict.fromkeys(target.parent for target in fresh.values()))
        for folder in folders:
            mine = {old: new for old, new in fresh.items() if new.parent == folder}
            sums = {old: (digests or {}).get(old) or digest_of(old) for old in mine}
            with writing(folder), _alone_in(folder):
                self._place(folder, mine, sums, whole=whole)
        for folder in folders:
            with writing(folder), _alone_in(folder):
                _note_whole(folder, {target.name for target in fresh.values()})
                remove_left(folder)

    def remove(self, path: Path) -> None:
        """Remove an output that is as dris left it; refuse any other."""
        replace(self, force=True).refuse(path)
        with writing(path):
            path.unlink(missing_ok=True)

    def _place(
        self, folder: Path, fresh: Mapping[Path, Path], sums: Mapping[Path, str], *, whole: bool
    ) -> None:
        noted, there = _noted(folder), {}
        for old, new in fresh.items():
            before = digest_of(new) if _is_plain(new) else None
            if before != sums[old]:
                self.refuse(new)
                there[old] = before
                # Beside what it replaces: killed before it is renamed, either is known.
                noted["files"][new.name] = [sums[old], *filter(None, [before])]
        if whole:
            noted["unfinished"] = sorted({*noted["unfinished"], *(n.name for n in fresh.values())})
        if there:
            _note(folder, noted)
        for old, new in fresh.items():
            if old not in there:
                old.unlink()
            elif there[old] is None:
                place_new(old, new)
            else:
                old.replace(new)

    def _read_from(self, target: Path) -> str | None:
        """In which way the command reads this file; None when it does not."""
        try:
            own = target.stat()
        except FileNotFoundError:  # a link that leads nowhere
            return None
        for path in self.inputs:
            try:
                state = path.stat()
                if os.path.samestat(own, state):
                    return "is an input of this command"
                if stat.S_ISDIR(state.st_mode) and _lies_in(own, target, path):
                    return f"lies in {path}, which this command reads,"
            except OSError:
                continue  # an input that cannot be read is named by its reader
        return None


OWN = Writer(force=True)  # for what goes on when it is called again, such as an experiment


def place_new(fresh: Path, target: Path) -> None:
    """Rename a finished file to a name that nothing has; refuse if something came in between."""
    try:
        os.link(fresh, target)
    except FileExistsError:
        why = "came to be while dris worked and is never replaced; move it away"
        raise InputError(f"{target} {why}, or {_ELSEWHERE}") from None
    except OSError:  # a disk without hard links
        fresh.rename(target)
    else:
        fresh.unlink()


def _noted(folder: Path) -> dict[str, Any]:
    """What a folder's list says: files with the bytes they may have, those of a set not whole."""
    path = folder / MANIFEST
    if not os.path.lexists(path):
        return {"files": {}, "unfinished": []}
    try:
        held: Any = from_json(path.read_bytes()) if _is_plain(path) else None
        if held["format"] == FORMAT:
            files = {str(name): [str(one) for one in sums] for name, sums in held["files"].items()}
            return {"files": files, "unfinished": [str(n) for n in held.get("unfinished", [])]}
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    why = "is damaged or of another program, so that nothing is replaced; move it away"
    raise InputError(f"{path} {why}, or {_ELSEWHERE}")


def _note(folder: Path, noted: Mapping[str, Any]) -> None:
    note = {"format": FORMAT, "note": _NOTE, "files": noted["files"]}
    if noted["unfinished"]:
        note["unfinished"] = noted["unfinished"]
    text = json.dumps(note, indent=1, sort_keys=True) + "\n"
    write_atomically(folder / MANIFEST, [text.encode()])


def _note_whole(folder: Path, names: set[str]) -> None:
    noted = _noted(folder)
    left = [name for name in noted["unfinished"] if name not in names]
    if left != noted["unfinished"]:
        _note(folder, {**noted, "unfinished": left})


def digest_of(path: Path) -> str:
    """SHA-256 of a file, whose bytes are on the disk on return."""
    if os.name == "nt":  # which syncs only what it may write to
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    with path.open("rb") as file:
        if os.name != "nt":
            os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()


def _not_ours(target: Path) -> str | None:
    """Why an existing file is not ours to replace; None when it is as dris left it."""
    if target.is_symlink():
        return "is a link, which dris never writes,"
    listed = _noted(target.parent)["files"].get(target.name)
    if listed is None or not _is_plain(target):
        return "was not written by dris"
    if digest_of(target) not in listed:
        return "was changed since dris wrote it, so it is yours"
    return None


def _is_plain(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _lies_in(own: os.stat_result, target: Path, folder: Path) -> bool:
    """Whether a file is in a folder, by its own or another name; folders inside are not read."""
    if target.parent.samefile(folder) or target.resolve().parent.samefile(folder):
        return True
    if own.st_nlink == 1:
        return False
    with os.scandir(folder) as entries:
        return any(entry.inode() == own.st_ino for entry in entries)


@contextmanager
def _alone_in(folder: Path, seconds: float = 2.0) -> Iterator[None]:
    """Let commands that write into one folder list their files one after the other.

    Where the lock cannot be had, a name may be lost from the list, and its file is refused.
    """
    from filelock import FileLock, Timeout

    name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]
    path = Path(tempfile.gettempdir(), f"dris-{name}.lock")
    lock = FileLock(path, fallback_to_soft=False)
    with suppress(Timeout, OSError):
        lock.acquire(timeout=seconds, poll_interval=0.01)
    try:
        yield
    finally:
        if lock.is_locked:
            with suppress(OSError):  # while it is held: who waited for this file takes a new one
                path.unlink()
            lock.release()
