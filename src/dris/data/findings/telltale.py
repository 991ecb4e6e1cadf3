"""Words that say the given label: in nearly every text of a class, and in hardly any other.

Such as "[spam]" in a subject line, or the `__label__` of some training files. Proxies that read
them agree with every given label, wrong ones included, so they are taken out of the texts.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dris.data.findings.leaks import MIN_LEFT_OUT
from dris.data.text.ngrams import BUCKETS, hashed_words, normalize

_SAMPLE = 20_000  # texts that are looked at
_OF_A_CLASS = 20  # texts at least: of fewer, an honest word may be in all
_WORD = re.compile(r"[^\W_]+")


def telltale_words(
    cells: Any, labels: NDArray[np.int64], classes: int, keys: NDArray[np.uint64]
) -> list[str]:
    """The words of a column of texts that are the label together, of all classes but one at least.

    `keys` are numbers of the rows, by which a sample is drawn whatever their order; rows without
    a label have -1.

    >>> texts = pa.array(["[Red] a b", "[blue] b c", "[red] c", "[blue] a"] * 15)
    >>> telltale_words(texts, np.arange(60) % 2, 2, np.arange(60, dtype=np.uint64))
    ['blue', 'red']
    """
    drawn = np.flatnonzero(labels >= 0)
    drawn = np.sort(drawn[np.argsort(keys[drawn], kind="stable")[:_SAMPLE]])
    given = labels[drawn]
    sizes = np.bincount(given, minlength=classes)
    counted = np.minimum(sizes, len(drawn) - sizes) >= _OF_A_CLASS
    if counted.sum() < 2:
        return []
    texts = normalize(cells.take(pa.array(drawn)))
    owner, bucket = hashed_words(texts)
    each = np.unique(bucket * len(texts) + owner)  # each bucket of a text once
    bucket, owner = np.divmod(each, len(texts))
    # Only words that are in as many texts as a class has can be that class.
    allowed = (1 - MIN_LEFT_OUT) * np.minimum(sizes, len(drawn) - sizes)
    within = np.bincount(bucket, minlength=BUCKETS)
    close = np.zeros(BUCKETS, dtype=np.bool_)
    for size, most in zip(sizes[counted], allowed[counted], strict=True):
        close |= np.abs(within - size) <= most
    named, words = set(), []
    for candidate in np.flatnonzero(close).tolist():
        begin, end = np.searchsorted(bucket, [candidate, candidate + 1])
        hits = np.bincount(given[owner[begin:end]], minlength=classes)
        label = int(hits.argmax())
        missed = sizes[label] + (end - begin) - 2 * hits[label]
        if counted[label] and missed <= allowed[label]:
            named.add(label)
            words += _words_in(str(texts[int(owner[begin])]), candidate)
    return sorted(set(words)) if len(named) >= counted.sum() - 1 else []


def remove_words(cells: Any, words: Sequence[str]) -> Any:
    """The texts without these words, whatever their case.

    >>> remove_words(pa.array(["__label__Red a redder b", None]), ["red"]).to_pylist()
    ['__label__ a redder b', None]
    """
    spelled = "|".join(map(re.escape, words))
    pattern = re.compile(rf"(?<![^\W_])(?:{spelled})(?![^\W_])", re.IGNORECASE)
    texts = (None if text is None else pattern.sub("", text) for text in cells.to_pylist())
    return pa.array(texts, pa.large_string())


def _words_in(text: str, bucket: int) -> list[str]:
    """The word of a text that falls into a bucket; none where a pair of words does."""
    words = list(dict.fromkeys(_WORD.findall(text)))
    at, buckets = hashed_words(pa.array(words, pa.large_string()))
    return [words[i] for i in at[buckets == bucket]]
