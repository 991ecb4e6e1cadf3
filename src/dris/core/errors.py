"""The one error that users see: a sentence naming the value, the rule and the remedy."""

import errno
from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Something handed to dris breaks a rule; the message says what, which and what to do.

    >>> raise InputError("fraction must be in (0, 1], got 1.5")
    Traceback (most recent call last):
    ...
    dris.core.errors.InputError: fraction must be in (0, 1], got 1.5
    """


def suggest_name(name: str, known: Iterable[str]) -> str:
    """A question that names the most similar of our own names; nothing when none is similar.

    >>> suggest_name("gatd", ["clean", "gated"]), suggest_name("best", ["clean", "gated"])
    (' (did you mean gated?)', '')
    """
    near = get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]}?)" if near else ""


MEMORY = "close other programs, use fewer workers (`workers=1`), or less of the data"
_ROOM = "free space on that disk, or name a folder on another one, and do the same again"
_REMEDIES = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "allow larger files (ulimit -f), or name a folder on another disk",
    errno.ENOLCK: "that disk offers no locks; name a folder on another one (`out`, `store`)",
    errno.EROFS: "that disk is for reading only; name a folder on another one",
    errno.EIO: "that disk does not answer; name a folder on another one",
    errno.EMFILE: "allow more open files (ulimit -n), or use fewer workers (`workers=1`)",
    errno.ENOMEM: MEMORY,
    errno.EAGAIN: MEMORY,
}


def remedy_for(error: OSError, otherwise: str = "check the path and its permissions") -> str:
    """What to do about an error of the system.

    >>> remedy_for(OSError(errno.ENOLCK, ""))
    'that disk offers no locks; name a folder on another one (`out`, `store`)'
    """
    return _REMEDIES.get(error.errno or 0, otherwise)


def sentence_of(error: OSError) -> str:
    """An error of the system as a sentence: the file, what is the matter, what to do.

    >>> sentence_of(OSError(errno.ENOSPC, "No space left on device", "a.csv"))
    'a.csv: No space left on device; free space on that disk, or name a folder on another one, \
and do the same again'
    """
    where = "" if error.filename is None else f"{error.filename}: "
    return f"{where}{error.strerror or error}; {remedy_for(error)}"
