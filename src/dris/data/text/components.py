"""Texts as a few hundred numbers: TF-IDF of hashed words and characters, then truncated SVD."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dris.data.text.ngrams import BUCKETS, hashed_ngrams, normalize

MAX_COMPONENTS = 256  # numbers a text becomes
SAMPLE = 12_000  # different texts that the components are found on
VOCABULARY = (20_000, 30_000)  # buckets kept: words and pairs of words, characters
_CHUNK = 1 << 14  # texts at once
_SWEEPS = 1  # more find components as good for detection, and take longer
_SPARE = 10  # directions beyond those that are kept


@dataclass(frozen=True, slots=True, eq=False)
class TextComponents:
    """What turns texts into numbers: which buckets count how much, and the axes they are put on."""

    column: NDArray[np.int32]  # of each bucket of both families, -1 where it is left out
    weight: NDArray[np.float32]  # inverse document frequency of each column
    words: int  # columns up to here are words
    axes: NDArray[np.float32]  # (columns, components)
    known: NDArray[np.float32] | None = None  # the numbers of all texts, where none was left out
    which: NDArray[np.int64] | None = None  # row of `known` of each cell

    @property
    def width(self) -> int:
        """How many numbers a text becomes."""
        return int(self.axes.shape[1])

    def put(self, cells: Any, out: NDArray[np.float32]) -> None:
        """The numbers of each text, into `out`; a text without known words is zero.

        `cells` are those that the components were found for.
        """
        if self.known is not None and self.which is not None:
            out[:] = self.known[self.which]
            return
        for begin in range(0, len(cells), _CHUNK):
            part = cells.slice(begin, _CHUNK)
            counts = _matrix(normalize(part), self.column, self.weight, self.words)
            out[begin : begin + len(part)] = counts @ self.axes


def fit_components(
    cells: Any, keys: NDArray[np.uint64], most: int = MAX_COMPONENTS
) -> TextComponents | None:
    """Components of a column of texts; None when no word occurs twice.

    They are found on up to 12,000 different texts, drawn by their `keys`: the order of the rows
    changes nothing, not even a rounding.
    """
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    texts = normalize(cells.take(first[:SAMPLE]))
    column, weight, words = _vocabulary(texts)
    if not len(weight):
        return None
    counts = _matrix(texts, column, weight, words)
    size = min(most, max(2, len(texts) // 4), *counts.shape)
    axes = main_axes(counts, size)
    if len(first) > SAMPLE:
        return TextComponents(column, weight, words, axes)
    return TextComponents(column, weight, words, axes, counts @ axes, which)


def main_axes(matrix: Any, size: int) -> NDArray[np.float32]:
    """The first right singular vectors of a sparse matrix (rows, columns), as (columns, size).

    A randomised range finder that factorises on the side of the rows alone: texts have far more
    columns than a sample has rows. One thread, so that the machine's cores change no digit.

    >>> from scipy.sparse import csr_matrix
    >>> main_axes(csr_matrix(np.diag([3.0, 1.0, 0.1]).astype(np.float32)), 1).round(3).tolist()
    [[1.0], [0.0], [0.0]]
    """
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    width = min(size + _SPARE, *matrix.shape)
    across = matrix.T.tocsr()
    with threadpool_limits(1):
        start = rng.standard_normal((matrix.shape[1], width), dtype=np.float32)
        basis = np.linalg.qr(matrix @ start)[0]
        for _ in range(_SWEEPS):
            basis = np.linalg.qr(matrix @ (across @ basis))[0]
        image = across @ basis
        squares, turn = np.linalg.eigh((image.T @ image).astype(np.float64))
        order = np.argsort(squares)[::-1][:size]
        scale = np.sqrt(np.maximum(squares[order], 1e-12))
        axes = image @ (turn[:, order] / scale).astype(np.float32)
    sign = np.where(axes.max(axis=0) >= -axes.min(axis=0), np.float32(1), np.float32(-1))
    return np.ascontiguousarray(axes * sign, dtype=np.float32)


def _vocabulary(texts: Any) -> tuple[NDArray[np.int32], NDArray[np.float32], int]:
    """The commonest buckets that two texts share, and how telling each is."""
    column = np.full(2 * BUCKETS, -1, dtype=np.int32)
    weights, size, words = [], 0, 0
    for family, (owner, bucket) in enumerate(hashed_ngrams(texts)):
        each = np.sort(owner * BUCKETS + bucket)
        new = np.diff(each, prepend=-1) > 0  # each bucket of a text once
        texts_with = np.bincount(each[new] % BUCKETS, minlength=BUCKETS)
        kept = np.flatnonzero(texts_with >= 2)
        order = np.lexsort((kept, -texts_with[kept]))[: VOCABULARY[family]]
        kept = np.sort(kept[order])
        column[family * BUCKETS + kept] = np.arange(size, size + len(kept))
        weights.append(1 + np.log((1 + len(texts)) / (1 + texts_with[kept])))
        size += len(kept)
        words = words or size
    return column, np.concatenate(weights).astype(np.float32), words


def _matrix(texts: Any, column: NDArray[np.int32], weight: NDArray[np.float32], words: int) -> Any:
    """(texts, columns) of TF-IDF, words and characters of each text of length one."""
    from scipy.sparse import coo_matrix

    rows, places = [], []
    for family, (owner, bucket) in enumerate(hashed_ngrams(texts)):
        at = column[family * BUCKETS + bucket]
        rows.append(owner[at >= 0])
        places.append(at[at >= 0])
    at, where = np.concatenate(rows), np.concatenate(places)
    ones = np.ones(len(at), dtype=np.float32)
    counts = coo_matrix((ones, (at, where)), shape=(len(texts), len(weight))).tocsr()
    counts.data = (1 + np.log(counts.data)) * weight[counts.indices]
    row = np.repeat(np.arange(len(texts)), np.diff(counts.indptr))
    part = 2 * row + (counts.indices >= words)
    norm = np.sqrt(np.bincount(part, weights=counts.data**2, minlength=2 * len(texts)))
    counts.data = (counts.data / norm[part]).astype(np.float32)
    return counts
