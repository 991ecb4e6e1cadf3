"""Numbers and text that travel inside a page: small, exact enough to draw, never markup."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_TYPES = {"u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array"}
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def packed(values: NDArray[Any]) -> dict[str, str]:
    """Whole numbers as the base64 of the smallest JavaScript typed array that holds them.

    >>> packed(np.array([1, 2, 255]))
    {'type': 'Uint8Array', 'data': 'AQL/'}
    """
    top = int(values.max()) if values.size else 0
    return _encoded(values, next(code for code in _TYPES if top <= np.iinfo(code).max))


def unpacked(value: dict[str, str]) -> NDArray[Any]:
    """What `packed` packed, as the page's script reads it.

    >>> unpacked(packed(np.array([1, 70_000]))).tolist()
    [1, 70000]
    """
    code = next(code for code, name in _TYPES.items() if name == value["type"])
    return np.frombuffer(base64.b64decode(value["data"]), np.dtype(code).newbyteorder("<"))


def quantised(values: NDArray[np.float64], top: float) -> dict[str, str]:
    """Numbers in [0, top] in 65,536 steps: finer than any screen.

    >>> unpacked(quantised(np.array([0.0, 0.5, 1.0]), 1.0)).tolist()
    [0, 32768, 65535]
    """
    share = values / top if top > 0 else np.zeros_like(values)
    return _encoded(np.round(share * 65535), "u2")


def packed_text(words: Sequence[str], *, budget: int) -> dict[str, Any]:
    """Words without the beginning they share; cut in the middle where they are past the budget.

    >>> packed_text(["img/1.png", "img/22.png"], budget=100)
    {'prefix': 'img/', 'words': ['1.png', '22.png'], 'cut': False}
    """
    low, high = (min(words), max(words)) if len(words) > 1 else ("", "")
    shared = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    prefix = low[:shared]
    rest = [word[len(prefix) :] for word in words]
    room = max(budget // max(len(rest), 1), 12)
    over = sum(map(_weight, rest)) > budget
    if over:
        rest = [_cut(word, room) for word in rest]
    return {"prefix": prefix, "words": rest, "cut": over}


def script_json(value: Any) -> str:
    r"""JSON that may stand inside a <script> element: no character that HTML could act on.

    >>> script_json({"label": "</script>"})
    '{"label":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    # File names need not be valid text; a lone surrogate cannot be written as UTF-8.
    return text.encode("utf-8", "backslashreplace").decode()


def _encoded(values: NDArray[Any], code: str) -> dict[str, str]:
    data = values.astype(np.dtype(code).newbyteorder("<")).tobytes()
    return {"type": _TYPES[code], "data": base64.b64encode(data).decode()}


def _weight(word: str) -> int:
    """Bytes in the page: UTF-8, the quotes and the comma; escapes are rare enough."""
    return len(word.encode("utf-8", "surrogatepass")) + 3


def _cut(word: str, room: int) -> str:
    """The word in at most `room` bytes: its two ends with an ellipsis between them."""
    if _weight(word) <= room:
        return word
    half = (room - 6) // (2 if word.isascii() else 8)
    return f"{word[:half]}…{word[len(word) - half :]}" if half else "…"
