"""Loss ranks and their variance over proxies: the paper's score (eq. 2), exact and fast.

Ties share their mean rank, so ranks are halves; doubled they are whole numbers, and K·Σr² − (Σr)²
is computed without rounding: exactly zero where proxies agree, exactly the same whatever their
order.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dris.core.errors import InputError
from dris.core.large.mapped import ordered_keys
from dris.core.validate import as_floats, check_count, first_not_finite

_CHUNK = 1 << 18  # elements handled at a time, small enough to stay in the cache


def normalized_ranks(losses: ArrayLike) -> NDArray[np.float64]:
    """Rank each row into (0, 1]; the largest loss gets 1, ties share their mean.

    Takes one row (N,) or one row per proxy (K, N).

    >>> normalized_ranks(np.array([[0.1, 3.0, 0.2, 0.2]])).tolist()
    [[0.25, 1.0, 0.625, 0.625]]
    """
    rows = _check_losses(losses, least=1)
    doubled = np.stack([doubled_ranks(row) for row in rows])
    ranks = doubled / (2.0 * rows.shape[1])
    return np.asarray(ranks[0] if np.ndim(losses) == 1 else ranks)


def rank_variance(losses: ArrayLike, *, workers: int | None = None) -> NDArray[np.float64]:
    """Variance over proxies of the normalized loss rank, from (K, N) losses (paper, eq. 2).

    Larger means the proxies disagree more. Divides by K, as Theorem 1 bounds it; never above 1/4.

    >>> rank_variance(np.array([[0.1, 3.0, 0.2, 0.2], [0.1, 0.2, 3.0, 0.2]])).tolist()
    [0.0, 0.03515625, 0.03515625, 0.0]
    """
    threads = (os.cpu_count() or 1) if workers is None else check_count(workers, "workers", 1)
    rows = _check_losses(losses, least=2, most=2**32)
    k, n = rows.shape
    # Sums of at most K doubled ranks; 32 bits are enough for nearly everyone and halve the memory.
    narrow = 2 * n * k < 2**32
    total: NDArray[np.unsignedinteger] = np.zeros(n, dtype=np.uint32 if narrow else np.uint64)
    squares = np.zeros(n, dtype=np.uint64)
    adding = Lock()

    def add(row: NDArray[np.floating]) -> None:
        ranks = doubled_ranks(row)
        with adding:
            for part in _parts(n):
                r = ranks[part].astype(np.uint64)
                np.add(total[part], r, out=total[part], casting="unsafe")
                squares[part] += r * r

    with ThreadPoolExecutor(max_workers=min(k, threads)) as pool:
        list(pool.map(add, rows))
    out = squares.view(np.float64)
    for part in _parts(n):
        out[part] = _spread(squares[part], total[part], k) / float(2 * k * n) ** 2
    return out


def variance_of_ranks(doubled: NDArray[np.unsignedinteger], total: int) -> NDArray[np.float64]:
    """Rank variance from (K, n) doubled ranks among `total` examples, bit for bit as in memory.

    Below K·N = 2^32 in whole numbers; from there on in float64 from the smallest of the K ranks.

    >>> variance_of_ranks(np.array([[2, 8, 5, 5], [2, 5, 8, 5]], dtype=np.uint64), 4).tolist()
    [0.0, 0.03515625, 0.03515625, 0.0]
    """
    k = len(doubled)
    scale = float(2 * k * total) ** 2
    if k * total < 2**32:
        r = doubled.astype(np.uint64, copy=False)
        return np.asarray(_spread((r * r).sum(axis=0), r.sum(axis=0), k) / scale)
    ordered = np.sort(doubled, axis=0)
    above = (ordered - ordered[0]).astype(np.float64)
    return np.asarray((k * (above * above).sum(axis=0) - above.sum(axis=0) ** 2) / scale)


def _spread(
    squares: NDArray[np.uint64], total: NDArray[np.unsignedinteger], k: int
) -> NDArray[np.uint64]:
    """K·Σr² − (Σr)²: both may wrap around 2^64, their difference, at most (K·N)², does not."""
    t = total.astype(np.uint64)
    return np.uint64(k) * squares - t * t


def doubled_ranks(row: NDArray[np.floating]) -> NDArray[np.unsignedinteger]:
    """Twice the 1-based mean rank of each element, as whole numbers; the row must be finite."""
    if row.dtype == np.float32 and row.size < 2**31:
        return _doubled_ranks_packed(row)
    order = np.argsort(row)
    ordered = row[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    ends = np.append(starts[1:], row.size)
    ranks = np.empty(row.size, dtype=np.uint64)
    ranks[order] = np.repeat((starts + ends + 1).astype(np.uint64), ends - starts)
    return ranks


def _doubled_ranks_packed(row: NDArray[np.floating]) -> NDArray[np.uint32]:
    """One 64-bit word per element, sortable float above its position; ties are equal halves."""
    n = row.size
    words = np.empty(n, dtype=np.uint64)
    for part in _parts(n):
        words[part] = ordered_keys(row[part])
        words[part] <<= np.uint64(32)
        words[part] |= np.arange(part.start, part.stop, dtype=np.uint64)
    words.sort()
    ranks = np.empty(n, dtype=np.uint32)
    halves = words.view(np.uint32).reshape(n, 2)
    low, high = (0, 1) if np.little_endian else (1, 0)
    begin = 0
    while begin < n:
        end = min(begin + _CHUNK, n)
        if end < n:  # never cut a run of ties: end the part where its last run begins, or after it
            last = halves[end - 1, high]
            first_of_run = begin + int(np.searchsorted(halves[begin:end, high], last))
            if halves[end, high] == last:
                end = first_of_run if first_of_run > begin else _run_end(words, begin)
        keys = halves[begin:end, high]
        starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        ends = np.append(starts[1:], keys.size)
        values = (starts + ends + (2 * begin + 1)).astype(np.uint32)
        if starts.size < keys.size:
            values = np.repeat(values, ends - starts)
        ranks[halves[begin:end, low]] = values
        begin = end
    return ranks


def _run_end(words: NDArray[np.uint64], begin: int) -> int:
    next_key = ((words[begin] >> np.uint64(32)) + np.uint64(1)) << np.uint64(32)
    return begin + int(np.searchsorted(words[begin:], next_key)) if next_key else words.size


def _parts(n: int) -> list[slice]:
    return [slice(i, min(i + _CHUNK, n)) for i in range(0, n, _CHUNK)]


def _check_losses(losses: ArrayLike, *, least: int, most: float = np.inf) -> NDArray[np.floating]:
    """Losses as a finite (K, N) array; K·N stays below `most`, up to which sums are exact."""
    a = as_floats(losses, "losses")
    if a.ndim == 1 and least == 1:
        a = a[np.newaxis]
    if a.ndim != 2:
        raise InputError(f"losses must be (K, N): proxies by examples, got shape {a.shape}")
    if a.shape[1] == 0:
        raise InputError("losses are empty; at least one example is needed")
    if a.shape[0] < least:
        raise InputError(
            f"rank variance needs at least 2 proxies, got {a.shape[0]}: "
            "with one proxy it is zero everywhere; train more proxies"
        )
    if a.size >= most:
        k, n = a.shape
        raise InputError(f"K·N must stay below 2^32 for exact sums, got {k} x {n}; score in shards")
    for k, row in enumerate(a):
        bad = first_not_finite(row)
        if bad is not None:
            raise InputError(
                f"losses must be finite, got {row[bad]} for proxy {k}, example {bad}; "
                "drop that proxy or mend its training"
            )
    return a
