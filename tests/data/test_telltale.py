"""Words that say the given label are found, named and left out; honest words never are."""

import csv
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import dris
from dris.core.errors import InputError
from dris.data.findings import telltale_words
from dris.data.tables import label_columns as stream

TOPICS = ("sport", "money", "health")
OWN = (
    ("goal", "match", "team", "league", "coach"),
    ("stock", "bank", "profit", "trade", "loan"),
    ("virus", "nurse", "drug", "vaccine", "cell"),
)
COMMON = ("the", "of", "and", "to", "in", "was", "for", "on")


def texts_of(n=600, wrong=0.15, say="[{}] ", seed=0):
    """Texts, given topics and which are wrong; `say` puts the given topic before each text."""
    rng = np.random.default_rng(seed)
    true = np.arange(n) % 3
    flipped = rng.random(n) < wrong
    given = np.where(flipped, (true + rng.integers(1, 3, n)) % 3, true)
    texts = [
        say.format(TOPICS[g]) + " ".join([*rng.choice(OWN[t], 4), *rng.choice(COMMON, 6)])
        for t, g in zip(true, given, strict=True)
    ]
    return texts, np.array(TOPICS)[given], flipped


def found(texts, labels):
    _, codes = np.unique(labels, return_inverse=True)
    keys = np.random.default_rng(1).integers(0, 1 << 62, len(codes)).astype(np.uint64)
    return telltale_words(pa.array(texts), codes, len(set(labels)), keys)


def test_a_label_in_front_of_every_text_is_found_and_honest_words_are_not():
    texts, given, _ = texts_of()
    assert found(texts, given) == ["health", "money", "sport"]
    assert found(texts_of(say="")[0], given) == []
    assert found(texts_of(say="__label__{} ")[0], given) == ["health", "money", "sport"]
    assert found(texts_of(say="topic: {}. ")[0], given) == ["health", "money", "sport"]


def test_a_word_that_fails_too_often_or_names_too_few_classes_is_no_label():
    texts, given, _ = texts_of()
    some = [t.replace("[sport]", "") if i % 20 == 0 else t for i, t in enumerate(texts)]
    # One class may go without a word of its own, two may not.
    assert found(some, given) == ["health", "money"]
    other = [t.replace("[money]", "") if i % 20 == 1 else t for i, t in enumerate(some)]
    assert found(other, given) == []


def test_a_word_of_a_handful_of_texts_is_no_label():
    few = ["odd word"] * 8 + ["a b", "b c", "a c"] * 20
    assert found(few, ["x"] * 8 + ["y"] * 60) == []
    assert found(["odd word"] * 24 + ["a b", "b c", "a c"] * 20, ["x"] * 24 + ["y"] * 60) != []


@cache
def without_labels_words():
    return dris.read_data(texts_of(say="")[0], y=texts_of()[1])


@pytest.mark.parametrize("door", ["csv", "frame", "list"])
def test_the_labels_words_are_left_out_through_every_door(tmp_path, door):
    texts, given, _ = texts_of()
    if door == "csv":
        path = tmp_path / "texts.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "topic"), *zip(texts, given, strict=True)])
        data = dris.read_data(path, label="topic")
    elif door == "frame":
        data = dris.read_data(pa.table({"text": texts, "topic": given}), label="topic")
    else:
        data = dris.read_data(texts, y=given)
    (leak,) = data.leaks
    assert (leak.column, leak.words, leak.left_out) == ("text", ("health", "money", "sport"), True)
    assert np.allclose(data.x, without_labels_words().x, atol=1e-3)


def test_without_the_labels_words_wrong_labels_are_found():
    texts, given, flipped = texts_of()
    decision = dris.clean(texts, given, check_harm=False)
    note = "column 'text' says the given label in words ('health', 'money', 'sport'), wrong ones"
    assert note in str(decision)
    suspects = decision.suspects.positions
    assert flipped[suspects].mean() > 0.9
    assert decision.noise_rate.low < flipped.mean() < decision.noise_rate.high + 0.02


def test_where_only_such_words_could_be_learned_from_they_stay_and_are_named(monkeypatch):
    real = stream.encode

    def encoded(*how, without=None):
        if without:
            raise InputError("nothing is left")
        return real(*how)

    monkeypatch.setattr(stream, "encode", encoded)
    texts, given, _ = texts_of()
    decision = dris.clean(dris.read_data(texts, y=given), check_harm=False)
    (leak,) = decision.data.leaks
    assert (leak.words, leak.left_out) == (("health", "money", "sport"), False)
    assert "and they are learned from all the same" in str(decision)
    assert decision.noise_rate is None
