"""Words, pairs of words and character n-grams of many texts, hashed all at once.

Hashes are polynomials over code points modulo 2^64: those of all words come from one running sum.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

BUCKETS = 1 << 20  # per family: words, characters
CHARACTERS = (3, 4, 5)
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that it has an inverse modulo 2^64
_MIX = np.uint64(0xD6E8FEB86659FD93)
_SPACE = 32
_TEXTS = 1 << 14  # texts at once
_PIECE = 1 << 22  # code points of one running sum

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]  # text, bucket
MAX_COMPONENTS = 256  # numbers a text becomes
SAMPLE = 12_000  # different texts that the components are found on
VOCABULARY = (20_000, 30_000)  # buckets kept: words and pairs of words, characters
_SPARE = 10  # directions beyond those that are kept


def normalize(cells: Any) -> Any:
    """Texts in lower case and in one Unicode form, the missing ones empty."""
    words = cells.cast(pa.large_string()).fill_null("")
    if isinstance(words, pa.ChunkedArray):
        words = words.combine_chunks()
    other = pc.invert(pc.string_is_ascii(words))
    if pc.any(other).as_py():  # Arrow's own normalization is wrong before its version 26
        some = [unicodedata.normalize("NFKC", word) for word in words.filter(other).to_pylist()]
        words = pc.replace_with_mask(words, other, pa.array(some, pa.large_string()))
    return pc.utf8_lower(words)


def text_keys(cells: Any) -> NDArray[np.uint64]:
    """A number for each text whatever its case, by which some are drawn whatever their order."""
    keys = np.empty(len(cells), dtype=np.uint64)
    for at in range(0, len(cells), _TEXTS):
        texts = normalize(cells.slice(at, _TEXTS))
        for begin, end, codes, starts in _pieces(texts):
            own = _segments(codes, starts[:-1], starts[1:])
            keys[at + begin : at + end] = own + np.diff(starts).astype(np.uint64) * _BASE
    return _mixed(keys)


def hashed_ngrams(texts: Any, sizes: Sequence[int] = CHARACTERS) -> tuple[Pairs, Pairs]:
    """(text, bucket) of every word and pair of words, and of the character n-grams of words."""
    words: list[Pairs] = []
    characters: list[Pairs] = []
    for begin, _, codes, starts in _pieces(texts):
        known, at = np.unique(codes, return_inverse=True)
        letters = [chr(c).isalnum() or (c > 127 and not chr(c).isspace()) for c in known.tolist()]
        inside = np.array(letters, np.bool_)[at]  # a letter, a digit or a mark of any script
        owner = begin + np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        words.append(_words(codes, inside, owner))
        characters += _characters(codes, inside, owner, starts, sizes)
    return _joined(words), _joined(characters)


def _pieces(texts: Any) -> Any:
    """Runs of texts as code points, each ending in a space: first, last, code points, starts."""
    lengths = np.asarray(pc.utf8_length(texts).to_numpy(zero_copy_only=False)).astype(np.int64) + 1
    ends = np.cumsum(lengths)
    begin = 0
    while begin < len(texts):
        limit = (ends[begin - 1] if begin else 0) + _PIECE
        end = max(begin + 1, int(np.searchsorted(ends, limit, side="right")))
        joined = " ".join(texts.slice(begin, end - begin).to_pylist()) + " "
        codes = np.frombuffer(joined.encode("utf-32-le", "replace"), dtype=np.uint32)
        starts = np.concatenate([[0], np.cumsum(lengths[begin:end])])
        yield begin, end, codes, starts
        begin = end


def _segments(
    codes: NDArray[np.uint32], begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """The hash of each stretch: between two running sums of code·base^i, moved to the origin."""
    power, inverse = np.full((2, len(codes) + 1), 1, dtype=np.uint64)
    power[1:] = _BASE
    inverse[1:] = np.uint64(pow(int(_BASE), -1, 1 << 64))
    np.multiply.accumulate(power, out=power)
    np.multiply.accumulate(inverse, out=inverse)
    sums = np.zeros(len(codes) + 1, dtype=np.uint64)
    np.cumsum((codes.astype(np.uint64) + np.uint64(1)) * power[:-1], out=sums[1:])
    return np.asarray((sums[ends] - sums[begins]) * inverse[begins])


def _mixed(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keys whose upper bits depend on all of theirs."""
    keys = (keys ^ (keys >> np.uint64(32))) * _MIX
    return np.asarray((keys ^ (keys >> np.uint64(32))) * _MIX)


def _bucket(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    return (_mixed(keys) >> np.uint64(64 - 20)).astype(np.int64)


def _words(codes: NDArray[np.uint32], inside: NDArray[np.bool_], owner: NDArray[np.int64]) -> Pairs:
    edge = np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8))
    begins, ends = np.flatnonzero(edge == 1), np.flatnonzero(edge == -1)
    keys = _segments(codes, begins, ends)
    texts = owner[begins]
    pairs = texts[1:] == texts[:-1]
    two = _mixed(keys[:-1])[pairs] + keys[1:][pairs] * _BASE
    whose = np.concatenate([texts, texts[:-1][pairs]])
    return whose, _bucket(np.concatenate([keys, two]))


def _characters(
    codes: NDArray[np.uint32],
    inside: NDArray[np.bool_],
    owner: NDArray[np.int64],
    starts: NDArray[np.int64],
    sizes: Sequence[int],
) -> list[Pairs]:
    """n-grams that hold at least one letter and no two things that are none in a row."""
    clean = np.where(inside, codes, _SPACE).astype(np.uint64)
    kept = np.ones(len(clean), dtype=bool)
    kept[1:] = inside[1:] | inside[:-1]  # runs of spaces and marks count once
    kept[starts[:-1]] = inside[starts[:-1]]
    clean, inside, owner = clean[kept], inside[kept], owner[kept]
    parts = []
    for n in sizes:
        count = max(0, len(clean) - n + 1)
        key = np.full(count, n, dtype=np.uint64)
        for i in range(n):
            key = key * _BASE + clean[i : i + count]
        fine = owner[:count] == owner[n - 1 : n - 1 + count]
        for i in range(1, n - 1):
            fine &= inside[i : i + count]  # a space only at either end
        parts.append((owner[:count][fine], _bucket(key[fine])))
    return parts


def _joined(parts: list[Pairs]) -> Pairs:
    nothing = np.zeros(0, np.int64)
    owners, buckets = zip((nothing, nothing), *parts, strict=True)
    return np.concatenate(owners), np.concatenate(buckets)


@dataclass(frozen=True, slots=True, eq=False)
class TextComponents:
    """What turns texts into numbers: which buckets count how much, and the axes they are put on."""

    column: NDArray[np.int32]  # of each bucket of both families, -1 where it is left out
    weight: NDArray[np.float32]  # inverse document frequency of each column
    words: int  # columns up to here are words
    axes: NDArray[np.float32]  # (columns, components)
    known: NDArray[np.float32] | None = None  # the numbers of all texts, where none was left out
    which: NDArray[np.int64] | None = None  # row of `known` of each cell

    def put(self, cells: Any, out: NDArray[np.float32]) -> None:
        """Put the numbers of each text, those it was fitted on; one without known words is zero."""
        if self.known is not None and self.which is not None:
            out[:] = self.known[self.which]
            return
        for begin in range(0, len(cells), _TEXTS):
            part = cells.slice(begin, _TEXTS)
            counts = _matrix(normalize(part), self.column, self.weight, self.words)
            out[begin : begin + len(part)] = counts @ self.axes


def fit_components(
    cells: Any, keys: NDArray[np.uint64], most: int = MAX_COMPONENTS
) -> TextComponents | None:
    """Components of a column of texts; None when no word occurs twice.

    They are found on 12,000 texts at most, drawn by `keys`, whatever the rows' order.
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

    A randomised range finder that factorises on the side of the rows, which are fewer. One thread,
    so that the machine's cores change no digit.

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
        basis = np.linalg.qr(matrix @ (across @ basis))[0]  # once more finds no better ones
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
