"""A session: answers that are on the disk at once, what is shown, what is written."""

import errno
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from dris.core.errors import InputError
from dris.data.reader import read_data
from dris.data.writer import Writer
from dris.review_app.journal import Journal
from dris.review_app.session import ReviewSession
from dris.review_app.worklist import NO_LABEL, worklist_of
from made_review import made_decision, made_session, made_table


@pytest.fixture
def session(tmp_path):
    made = made_session(tmp_path)
    yield made
    with suppress(OSError):  # a test may have closed it
        made.journal.close()


def first(session, k=0):
    return int(session.worklist.suspects[k])


def answers(folder):
    with made_session(folder).journal as journal:
        return [entry for _, entry in journal.entries()]


def test_whoever_opens_it_again_finds_every_answer_and_the_same_cards(session, tmp_path):
    session.answer("ana", first(session), "right")
    session.answer("ben", first(session, 1), "unsure")
    last = json.loads(session.journal.path.read_text(encoding="utf-8").splitlines()[-1])
    assert (last["who"], last["answer"], last["label"]) == ("ben", "unsure", [NO_LABEL])
    cards = session.worklist.positions.tolist()
    session.journal.close()
    again = made_session(tmp_path)
    assert again.worklist.positions.tolist() == cards
    assert again.state.outcome(first(again)) == "right"
    assert again.summary("ana")["people"] == {"ana": 1, "ben": 1}
    again.journal.close()


def test_undo_gives_back_the_last_act_of_that_person_and_what_was_before(session):
    at = first(session)
    session.answer("ana", at, "right")
    session.answer("ana", at, "wrong", 1)
    session.answer("ben", first(session, 1), "right")
    assert session.undo("ana") == [at]
    assert session.state.by("ana", at).kind == "right"
    assert session.undo("ana") == [at]
    assert session.undo("ana") == []
    assert session.state.outcome(first(session, 1)) == "right"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (("ana", 200, "right", NO_LABEL), "no example 200"),
        (("ana", 0, "maybe", NO_LABEL), "answer must be right, wrong, unsure"),
        (("ana", 0, "wrong", 3), "label must be 0..2 or -1, got 3"),
        (("ana", 0, "wrong", 0), "only a wrong label has another one"),
        ((" ", 0, "right", NO_LABEL), "a reviewer needs a name"),
    ],
)
def test_an_answer_that_makes_no_sense_is_refused_and_not_written(tmp_path, entry, message):
    session = made_session(tmp_path, sample=0)
    before = session.journal.path.read_bytes()
    with pytest.raises(InputError, match=message):
        session.answer(*entry)
    assert session.journal.path.read_bytes() == before
    session.journal.close()


KILLED = """
import sys
sys.path[:0] = {paths!r}
from made_review import made_session
session = made_session({folder!r})
for k in range(10_000):
    at = int(session.worklist.positions[k % len(session.worklist)])
    session.answer("ana", at, "right")
    print(k, flush=True)
"""


def test_what_was_answered_before_a_kill_is_there_after_it(tmp_path):
    tests = str(Path(__file__).parents[1])
    source = str(Path(__file__).parents[2] / "src")
    code = KILLED.format(paths=[tests, source], folder=str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as child:
        printed = [child.stdout.readline() for _ in range(12)]
        os.kill(child.pid, signal.SIGKILL)
    written = answers(tmp_path)
    assert len(written) >= int(printed[-1]) + 1
    assert all(entry["answer"] == "right" for entry in written)


def test_half_a_line_is_stepped_over_and_what_comes_after_it_is_whole(session, tmp_path):
    session.answer("ana", first(session), "right")
    session.journal.close()
    with session.journal.path.open("ab") as file:
        file.write(b'{"entry":"answer","who":"an')
    again = made_session(tmp_path)
    again.answer("ana", first(again, 1), "unsure")
    assert [entry["answer"] for _, entry in again.journal.entries()] == ["right", "unsure"]
    again.journal.close()


def test_two_processes_cannot_write_one_review(session, tmp_path):
    with pytest.raises(InputError, match="is open in another"):
        made_session(tmp_path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("positions", lambda values: values[:-1]),
        ("positions", lambda values: [values[0], *values[:-1]]),
        ("positions", lambda values: [10**6, *values[1:]]),
        ("suggested", lambda values: [99, *values[1:]]),
        ("sampled", lambda values: [10**9]),
        ("rest", lambda value: -1),
        ("seed", lambda value: {}),
        ("classes", lambda value: 3),
    ],
)
def test_a_damaged_worklist_is_said_in_a_sentence(session, name, change):
    session.journal.close()
    head, _, rest = session.journal.path.read_bytes().partition(b"\n")
    held = json.loads(head)
    held["worklist"][name] = change(held["worklist"][name])
    text = json.dumps(held).encode() + b"\n" + rest
    session.journal.path.write_bytes(text)

    def read_it():
        with Journal(session.journal.path, pytest.fail) as journal:
            journal.worklist.check(session.data, session.journal.path)

    with pytest.raises(InputError, match=r"never replaced|was damaged"):
        read_it()
    assert session.journal.path.read_bytes() == text


def test_not_even_a_line_break_is_added_to_a_file_that_is_no_review(tmp_path):
    path = tmp_path / "notes.txt"
    for text in (
        b"precious\n",
        b"no break at the end",
        b'{"file":"dris review","work',
        b"[" * 100_000,
    ):
        path.write_bytes(text)
        with pytest.raises(InputError, match="never replaced"):
            Journal(path, lambda: pytest.fail("it was decided"))
        assert path.read_bytes() == text


def test_a_file_of_answers_appears_with_its_first_line_whole_or_not_at_all(tmp_path, monkeypatch):
    made, path = worklist_of(made_decision()), tmp_path / "a.jsonl"

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        Journal(path, lambda: made)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    Journal(path, lambda: made).close()
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]


def test_an_answer_that_does_not_fit_on_the_disk_spoils_none_that_comes_after(session, monkeypatch):
    real, before = os.write, session.journal.path.read_bytes()

    def full(handle, line):
        if len(line) > 20:
            return real(handle, line[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(InputError, match="No space left on device"):
        session.answer("ana", first(session), "right")
    monkeypatch.undo()
    assert session.journal.path.read_bytes() == before
    assert not session.state.outcome(first(session))
    session.answer("ana", first(session, 1), "right")
    assert [entry["at"] for _, entry in session.journal.entries()] == [[first(session, 1)]]


@pytest.mark.parametrize("kind", ["pipe", "folder", "nowhere"])
def test_where_no_answers_can_be_written_nothing_is_decided(tmp_path, kind):
    path = tmp_path / "answers.jsonl"
    if kind == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("needs pipes with names")
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path = tmp_path / "absent" / "answers.jsonl"
    with pytest.raises(InputError, match=r"pipe|folder"):
        Journal(path, lambda: pytest.fail("it was decided"))


def test_a_review_of_other_data_is_refused(session, tmp_path):
    session.journal.close()
    made_table(tmp_path, n=199)
    data = read_data(tmp_path / "animals.csv", label="kind", id="name")
    with (
        Journal(session.journal.path, pytest.fail) as journal,
        pytest.raises(InputError, match="has changed"),
    ):
        ReviewSession(data, journal)


def test_another_column_of_labels_is_refused(tmp_path):
    made = worklist_of(made_decision())
    other = made_decision(names=("x", "y", "z")).data
    with pytest.raises(InputError, match="read it the same way"):
        made.check(other, "a")


def test_cards_show_every_column_as_it_was_written(session):
    (card,) = session.cards([first(session)])
    assert card["id"] == "r0"
    assert card["fields"] == [("says", "word0 of row 0"), ("mass", "0.0")]


def test_nothing_on_a_card_tells_the_sample_from_the_suspects(session):
    opening = session.opening("ana")
    assert "sampled" not in opening
    given, other = np.array(opening["given"]), np.array(opening["suggested"])
    assert (other != NO_LABEL).all()
    assert (given != other).all()


def test_similar_examples_come_nearest_first_and_a_copy_has_distance_zero(tmp_path):
    path = made_table(tmp_path)
    data = read_data(path, label="kind", id="name", features=["mass"])
    made = worklist_of(made_decision(data))
    with Journal(tmp_path / "a.jsonl", lambda: made) as journal:
        features = np.r_[data.x[:1], data.x[:1], data.x[2:]]
        near = ReviewSession(data, journal, features=features).similar(0)
    assert near[0]["id"] == "r1"
    assert near[0]["distance"] == 0
    assert [one["distance"] for one in near] == sorted(one["distance"] for one in near)


def test_finish_writes_corrected_and_trusted_labels_and_leaves_the_original_alone(
    session, tmp_path
):
    before = (tmp_path / "animals.csv").read_bytes()
    a, b, c, d = (first(session, k) for k in range(4))
    session.answer("ana", a, "wrong", 1)
    session.answer("ana", b, "right")
    session.answer("ana", c, "wrong")
    session.answer("ana", d, "right")
    session.answer("ben", d, "wrong", 2)
    done = session.write_corrected(tmp_path / "new.csv", trusted=None, writer=Writer())
    assert (done.corrected, done.trusted, done.dropped, done.unsure) == (1, 2, 1, 1)
    lines = (tmp_path / "new.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].endswith("kind,trusted")
    assert lines[1].startswith("r0,")
    assert ",dog," in lines[1]
    assert not any(line.startswith("r2,") for line in lines)
    assert (tmp_path / "animals.csv").read_bytes() == before
    again = read_data(tmp_path / "new.csv", label="kind", id="name", trusted="trusted")
    assert again.trusted.sum() == 2


def test_finish_never_writes_over_the_data(session, tmp_path):
    session.answer("ana", first(session), "right")
    with pytest.raises(InputError, match="never replaced"):
        session.write_corrected(tmp_path / "animals.csv", trusted=None, writer=Writer(force=True))
    session.undo("ana")
    with pytest.raises(InputError, match="nothing is answered"):
        session.write_corrected(tmp_path / "b.csv", trusted=None, writer=Writer())


def test_a_cell_is_accepted_once_checked_and_corrected_unseen_but_not_trusted(tmp_path):
    session = made_session(tmp_path, suspects=120, sample=0)
    cell = session.cell(0, 1)
    for at in cell.sample:
        with pytest.raises(InputError, match="of the 20 drawn"):
            session.accept("ana", 0, 1)
        session.answer("ana", at, "wrong", 1)
    count = session.accept("ana", 0, 1)
    assert count == len(cell.members) - 20
    done = session.write_corrected(tmp_path / "new.csv", trusted=None, writer=Writer())
    assert (done.corrected, done.trusted) == (len(cell.members), 20)
    assert session.undo("ana") == [at for at in cell.members if at not in cell.sample]
    session.journal.close()
