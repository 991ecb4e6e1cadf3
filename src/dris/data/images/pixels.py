"""Image files as arrays of bytes: one decoder for every reader."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.data.files import one_line

OWN_SIZE = 64  # images that are all square and alike up to this side are read as they are
USUAL_SIZE = 32  # the side that all others are brought to, that of CIFAR
_MAX_PIXELS = 50_000_000  # pixels of one image; a small file can claim to hold billions
_GREY = ("1", "L")
_UNREADABLE = (
    *(OSError, SyntaxError, ValueError, LookupError, TypeError, ArithmeticError, EOFError),
    MemoryError,
)


def decode_image(file: Any, name: str, size: int, channels: int) -> NDArray[np.uint8]:
    """One image as (channels, size, size): shorter side to `size`, then the middle square.

    `file` is a path or an open file; 1 channel is grey, 3 are red, green and blue.
    """
    from PIL import Image, ImageOps

    with _opened(file, name) as image:
        plain = image.convert("L" if channels == 1 else "RGB")
        square = ImageOps.fit(plain, (size, size), Image.Resampling.BILINEAR)
    pixels = np.asarray(square, dtype=np.uint8)
    return pixels[None] if channels == 1 else pixels.transpose(2, 0, 1)


def outline(file: Any, name: str) -> tuple[tuple[int, int], bool]:
    """Width and height of an image, and whether it is grey, from its first bytes."""
    with _opened(file, name) as image:
        return image.size, image.mode in _GREY


@contextmanager
def _opened(file: Any, name: str) -> Iterator[Any]:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns of large images and of odd tags
            with Image.open(file) as image:
                if image.size[0] * image.size[1] > _MAX_PIXELS:
                    raise ValueError(f"{image.size[0]} × {image.size[1]} pixels are too many")
                yield image
    except (*_UNREADABLE, Image.DecompressionBombError) as error:
        raise InputError(
            f"{name} cannot be decoded ({one_line(error) or type(error).__name__}); replace it, "
            "or delete it to go on without"
        ) from None
