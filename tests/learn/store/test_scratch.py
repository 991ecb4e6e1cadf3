"""Scratch space is removed by its mark, never by its name."""

import pytest

from dris.core.errors import InputError
from dris.learn.store.locks import LOCK, folder_lock
from dris.learn.store.scratch import MARK, empty_scratch, made_scratch, remove_scratch


def test_a_folder_of_ours_is_emptied_and_removed(tmp_path):
    work = made_scratch(tmp_path / "a" / "work")
    with folder_lock(work):
        made_scratch(work)
        (work / "part").write_text("x", encoding="utf-8")
        (work / "deeper").mkdir()
        (work / "deeper" / "part").write_text("x", encoding="utf-8")
        empty_scratch(work)
        assert sorted(path.name for path in work.iterdir()) == [LOCK, MARK]
        remove_scratch(work)
    assert not work.exists()
    assert work.parent.exists()


@pytest.mark.parametrize("act", [made_scratch, empty_scratch, remove_scratch])
def test_a_folder_that_others_made_is_refused(tmp_path, act):
    theirs = tmp_path / "work"
    theirs.mkdir()
    (theirs / "notes").write_text("mine", encoding="utf-8")
    (tmp_path / "link").symlink_to(made_scratch(tmp_path / "ours"))
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
    remove_scratch(made_scratch(work))
    assert not work.exists()
