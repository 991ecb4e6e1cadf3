"""Whether a process, maybe on another machine, sees a folder of this one."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Mark:
    """A file of a name used once: whoever finds it sees the folder it lies in."""

    path: Path

    def is_visible(self) -> bool:
        """Whether this process sees the folder.

        >>> Mark(Path("absent")).is_visible()
        False
        """
        return self.path.exists()


@contextmanager
def marked(folder: Path) -> Iterator[Mark]:
    """Put a mark into a folder for as long as others may look for it, by the path as given.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, marked(Path(folder)) as mark:
    ...     mark.is_visible()
    True
    """
    mark = Mark(folder / f".seen-{uuid.uuid4().hex}")
    mark.path.touch()
    try:
        yield mark
    finally:
        mark.path.unlink(missing_ok=True)
