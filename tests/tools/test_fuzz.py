"""A short form of `make fuzz`, and twins: what it looks for, it sees."""

import os
import signal

import pytest

import fuzz

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="calls are forks")
FINE: dict[str, bytes | str] = {"data.csv": b"a"}


def test_no_damaged_input_crashes_hangs_forges_or_touches_a_file(monkeypatch):
    monkeypatch.setattr(fuzz, "LIMIT", 300.0)  # of a machine that has other work
    numbers = [n for n, call in enumerate(fuzz.CALLS) if not fuzz.needs_outputs(call)]
    bad = fuzz.run_many(5, numbers, short=True)
    assert [(seen.number, seen.wrong, seen.said) for seen in bad] == []


def test_every_command_and_every_reader_is_called():
    from typer.main import get_command

    from dris.cli import app
    from dris.data.formats import BY_NAME

    called = {call.words.split()[0] for call in fuzz.CALLS}
    assert set(get_command(app).commands) <= called
    named = " ".join(call.words for call in fuzz.CALLS)
    examples = {"csv": "data.csv", "images": "photos", "huggingface": "saved", "npy": "x.npy"}
    missing = [n for n in BY_NAME if examples.get(n, f"data.{n}") not in named]
    assert [n for n in missing if n not in ("jsonlines", "jsonl", "excel", "xlsx")] == []
    assert "data.jsonl" in named
    assert "data.xlsx" in named
    for way in ("--config", "--import", "--export", "likely.csv", "dates.csv", "blanks.csv"):
        assert way in named


def test_answers_may_only_be_added_and_only_to_a_review():
    begun = b'{"file":"dris review"}\n'
    assert fuzz._kept(begun, begun + b"{}\n", "answers.jsonl")
    assert fuzz._kept(b"", begun, "answers.jsonl")
    assert not fuzz._kept(begun, b"{}\n", "answers.jsonl")
    assert not fuzz._kept(b"mine", b"mine\n", "answers.jsonl")
    assert not fuzz._kept(b"a", b"ab", "data.csv")


@pytest.mark.parametrize(
    ("code", "said", "after", "wrong"),
    [
        (70, "dris: KeyError: 'x' (--debug shows where)", FINE, "exit 70"),
        ("hang", "", FINE, "exit hang"),
        ("signal 11", "", FINE, "exit signal 11"),
        (1, "Traceback (most recent call last):\ndris: x", FINE, "traceback"),
        (1, "something else", FINE, "no sentence"),
        (0, "label \x1b[31m", FINE, "raw control character"),
        (0, "label a\nEVIL b", FINE, "a line of the input's own"),
        (0, "wrote it", {"data.csv": b"b"}, "changed data.csv"),
        (0, "wrote it", {}, "changed data.csv"),
    ],
)
def test_each_broken_promise_is_seen(code, said, after, wrong):
    assert fuzz.wrong_with(code, said, FINE, after) == [wrong]


def test_what_keeps_the_promises_passes():
    assert fuzz.wrong_with(0, "wrote o/kept.csv\n", FINE, {**FINE, "o/kept.csv": b""}) == []
    assert fuzz.wrong_with(1, "note\ndris: a.csv is empty; name another\n", FINE, FINE) == []
    assert fuzz.wrong_with(2, "Usage: dris\nError: no such option", FINE, FINE) == []


def test_a_command_that_hangs_or_dies_is_told_apart(tmp_path, monkeypatch):
    import time

    import dris.cli

    (tmp_path / "here").mkdir()
    monkeypatch.setattr(dris.cli, "main", lambda: time.sleep(60))
    assert fuzz.called(["rules"], tmp_path / "here", limit=0.2)[0] == "hang"
    monkeypatch.setattr(dris.cli, "main", lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert fuzz.called(["rules"], tmp_path / "here")[0] == "signal 9"
    monkeypatch.setattr(dris.cli, "main", lambda: {}["x"])
    code, said = fuzz.called(["rules"], tmp_path / "here")
    assert fuzz.wrong_with(code, said, {}, {}) == ["exit 70", "traceback"]
