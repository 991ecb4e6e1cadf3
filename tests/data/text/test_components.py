"""Text as numbers: against a slow count, in any order of rows, in any script."""

import itertools
import os
import zlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dris.core.errors import InputError
from dris.data.reader import read_data
from dris.data.text import sentences
from dris.data.text.ngrams import fit_components, hashed_ngrams, normalize, text_keys


def texts(*words):
    return normalize(pa.array(words))


def words_of(text):
    """Runs of letters and digits, one after the other."""
    spaced = "".join(c if c.isalnum() or (ord(c) > 127 and not c.isspace()) else " " for c in text)
    return spaced.split()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab é好.! ", max_size=12), min_size=1, max_size=5))
def test_words_and_pairs_are_those_of_a_loop_over_the_texts(lines):
    cells = texts(*lines)
    (owner, bucket), _ = hashed_ngrams(cells)
    seen = {}
    for i, text in enumerate(cells.to_pylist()):
        words = words_of(text)
        things = [*words, *itertools.pairwise(words)]
        mine = bucket[owner == i]
        assert len(mine) == len(things)
        for thing in things:
            seen.setdefault(thing, []).append(i)
        assert len(set(mine.tolist())) <= len(set(things))
    by_bucket = {}
    for i, b in zip(owner.tolist(), bucket.tolist(), strict=True):
        by_bucket.setdefault(b, []).append(i)
    assert sorted(map(sorted, by_bucket.values())) == sorted(map(sorted, seen.values()))


def test_characters_are_runs_of_three_to_five_inside_a_word_and_the_spaces_around():
    _, (owner, bucket) = hashed_ngrams(texts("abc", "x abc", "abd"))
    per = [set(bucket[owner == i].tolist()) for i in range(3)]
    # "abc" is followed by the space that ends it: abc, "bc ", "abc "
    assert len(per[0]) == 3
    assert per[0] < per[1]
    assert per[0] & per[2] == set()


def test_a_text_far_into_the_column_has_the_same_numbers_as_the_first(monkeypatch):
    lines = [f"red cat number {i % 7} sat" for i in range(300)]
    whole = hashed_ngrams(texts(*lines))
    monkeypatch.setattr("dris.data.text.ngrams._PIECE", 50)
    pieces = hashed_ngrams(texts(*lines))
    for (one, two), (other, another) in zip(whole, pieces, strict=True):
        assert sorted(zip(one.tolist(), two.tolist(), strict=True)) == sorted(
            zip(other.tolist(), another.tolist(), strict=True)
        )


def corpus(n=120, seed=0):
    rng = np.random.default_rng(seed)
    topics = [["cat", "dog", "pet", "fur"], ["car", "road", "wheel", "fuel"]]
    y = rng.integers(0, 2, n)
    lines = [" ".join(rng.choice(topics[k], 4)) + f" {rng.integers(0, 40)}" for k in y]
    return lines, y


def test_components_follow_their_rows_in_any_order_to_the_last_digit():
    lines, _ = corpus()
    cells = pa.array(lines)
    order = np.random.default_rng(1).permutation(len(lines))
    other = cells.take(order)
    one, two = (fit_components(c, text_keys(c)) for c in (cells, other))
    a, b = (np.zeros((len(lines), f.axes.shape[1]), np.float32) for f in (one, two))
    one.put(cells, a)
    two.put(other, b)
    assert np.array_equal(a[order], b)


def test_components_tell_topics_apart():
    lines, y = corpus()
    data = read_data(lines, [("animals", "cars")[k] for k in y])
    assert data.features[0].how == "text"
    centre = [data.x[data.labels == k].mean(axis=0) for k in (0, 1)]
    near = np.linalg.norm(data.x[:, None] - np.array(centre), axis=2).argmin(axis=1)
    assert (near == data.labels).mean() > 0.95


class FakeModel:
    """Numbers by content, and a count of the texts that were asked for."""

    asked = 0

    def encode(self, lines, **_):
        FakeModel.asked += len(lines)
        return np.array([[zlib.crc32(t.encode()) % 97] * sentences.WIDTH for t in lines])


@pytest.fixture
def fake_model(monkeypatch):
    monkeypatch.setattr(sentences, "_model", FakeModel)
    monkeypatch.setattr(sentences, "use_sentences", lambda cells, how: how != "words")
    FakeModel.asked = 0


def test_sentences_are_embedded_once_and_then_found_by_content(fake_model):
    lines, y = corpus(60)
    labels = [str(k) for k in y]
    first = read_data(lines, labels)
    assert first.features[0].how == "sentence"
    assert any("sentence embeddings" in note for note in first.notes)
    assert FakeModel.asked == len(set(lines))
    back = read_data(lines[::-1], labels[::-1])
    assert FakeModel.asked == len(set(lines))
    assert np.array_equal(back.x[::-1], first.x)
    read_data([*lines[:-1], "something new here now"], labels)
    assert FakeModel.asked > len(set(lines))


def test_a_damaged_cache_is_made_anew(fake_model):
    lines, y = corpus(60)
    labels = [str(k) for k in y]
    first = read_data(lines, labels)
    (kept,) = Path(os.environ["XDG_CACHE_HOME"], "dris", "sentences").iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    assert np.array_equal(read_data(lines, labels).x, first.x)


def test_sentences_without_the_extra_are_one_sentence_about_it(monkeypatch):
    monkeypatch.setattr(sentences.importlib.util, "find_spec", lambda name: None)
    lines, y = corpus(60)
    with pytest.raises(InputError, match=r"need the extra text; pip install '\.\[text\]'"):
        read_data(lines, [str(k) for k in y], text="sentences")
