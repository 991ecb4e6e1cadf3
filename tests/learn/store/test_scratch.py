"""Scratch space is removed by its mark, never by its name."""

import threading

import pytest

from dris.core.errors import InputError
from dris.learn.store.locks import (
    LOCK,
    MARK,
    empty_scratch,
    folder_lock,
    make_scratch,
    remove_scratch,
    scratch,
)


def test_a_folder_of_ours_is_emptied_and_removed(tmp_path):
    work = make_scratch(tmp_path / "a" / "work")
    with folder_lock(work):
        make_scratch(work)
        (work / "part").write_text("x", encoding="utf-8")
        (work / "deeper").mkdir()
        (work / "deeper" / "part").write_text("x", encoding="utf-8")
        empty_scratch(work)
        assert sorted(path.name for path in work.iterdir()) == [LOCK, MARK]
        remove_scratch(work)
    assert not work.exists()
    assert work.parent.exists()


@pytest.mark.parametrize("act", [make_scratch, empty_scratch, remove_scratch])
def test_a_folder_that_others_made_is_refused(tmp_path, act):
    theirs = tmp_path / "work"
    theirs.mkdir()
    (theirs / "notes").write_text("mine", encoding="utf-8")
    (tmp_path / "link").symlink_to(make_scratch(tmp_path / "ours"))
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    for path in (theirs, tmp_path / "link", tmp_path / "file"):
        with pytest.raises(InputError, match="was not made by dris"):
            act(path)
    assert (theirs / "notes").read_text(encoding="utf-8") == "mine"
    assert [path.name for path in theirs.iterdir()] == ["notes"]


@pytest.mark.parametrize("names", [[], [LOCK], [MARK], [LOCK, MARK]])
def test_what_a_kill_leaves_of_a_folder_is_still_ours(tmp_path, names):
    work = tmp_path / "work"
    work.mkdir()
    for name in names:
        (work / name).touch()
    remove_scratch(make_scratch(work))
    assert not work.exists()


def test_whoever_waits_for_a_folder_finds_it_marked(tmp_path):
    work, result = tmp_path / "work", []

    def second():
        with scratch(work):
            result.extend(path.name for path in work.iterdir())

    with scratch(work) as held:
        (held / "part").touch()
        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
    waiting.join(10)
    assert sorted(result) == [LOCK, MARK]
    assert not work.exists()


def test_a_lock_alone_leaves_a_folder_that_is_refused_later(tmp_path):
    # What two processes at the same cell came to before they held its folder.
    work = make_scratch(tmp_path / "work")
    remove_scratch(work)
    with folder_lock(work):
        (work / "part").touch()
    with pytest.raises(InputError, match="was not made by dris"), scratch(work):
        pass
