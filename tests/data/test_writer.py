"""The writer replaces what dris wrote and nobody changed, and nothing else."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dris.core.errors import InputError
from dris.data import writer as module
from dris.data.writer import MANIFEST, OWN, Writer, digest_of, place_new

A, B = b"one\n", b"another\n"


def refused(says, write, *arguments, **named):
    with pytest.raises(InputError, match=says) as told:
        write(*arguments, **named)
    assert "\n" not in str(told.value)


def test_a_new_file_is_written_and_listed_with_its_checksum(tmp_path):
    path = Writer().write(tmp_path / "a", [A[:2], A[2:]])
    assert path.read_bytes() == A
    assert module._noted(tmp_path)["files"] == {"a": [digest_of(path)]}
    assert sorted(p.name for p in tmp_path.iterdir()) == [MANIFEST, "a"]


def test_its_own_file_is_replaced_with_force_and_else_refused(tmp_path):
    path = Writer().write(tmp_path / "a", [A])
    refused(r"a exists; .*force", Writer().refuse, path)
    refused("force", Writer().write, path, [B])
    assert path.read_bytes() == A
    assert OWN.write(path, [B]).read_bytes() == B
    assert OWN.write(path, [A]).read_bytes() == A


def test_what_is_foreign_edited_linked_or_a_folder_is_never_replaced(tmp_path):
    foreign, edited, link, nowhere = (tmp_path / name for name in ("f", "e", "l", "n"))
    foreign.write_bytes(A)
    Writer().write(edited, [A])
    edited.write_bytes(A + B)
    own = Writer().write(tmp_path / "own", [A])
    link.symlink_to(own)
    nowhere.symlink_to(tmp_path / "absent")
    (tmp_path / "d").mkdir()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for writer in (Writer(), OWN):
        refused("f was not written by dris and is never replaced", writer.write, foreign, [B])
        refused("e was changed since dris wrote it, so it is yours", writer.write, edited, [B])
        refused("l is a link, which dris never writes", writer.write, link, [B])
        refused("n is a link", writer.write, nowhere, [B])
        refused("d is a folder", writer.write, tmp_path / "d", [B])
        refused("fifo was not written by dris", writer.write, fifo, [B])
        refused("where dris lists", writer.write, tmp_path / MANIFEST, [B])
        refused("no such folder", writer.write, tmp_path / "no" / "a", [B])
    assert (foreign.read_bytes(), edited.read_bytes(), own.read_bytes()) == (A, A + B, A)
    assert nowhere.is_symlink()
    assert not list(tmp_path.glob(".*.tmp"))


def test_an_input_is_never_replaced_by_whatever_name_it_is_called(tmp_path, monkeypatch):
    data, folder = Writer().write(tmp_path / "data", [A]), tmp_path / "in"
    folder.mkdir()
    inside = Writer().write(folder / "part-1", [A])
    hard = folder / "hard"
    monkeypatch.chdir(folder)
    for inputs in (data, Path("../data"), tmp_path / "dat*"):
        refused("data is an input of this command", OWN.reading(inputs).write, data, [B])
    (tmp_path / "soft").symlink_to(data)
    refused("is an input", OWN.reading(tmp_path / "soft").write, data, [B])
    refused("soft is an input", OWN.reading(data).write, tmp_path / "soft", [B])
    refused("lies in .*in, which this command reads", OWN.reading(folder).write, inside, [B])
    hard.hardlink_to(data)
    refused("is an input", OWN.reading(hard).write, data, [B])
    refused("which this command reads", OWN.reading(folder).write, data, [B])
    assert (data.read_bytes(), inside.read_bytes()) == (A, A)
    (tmp_path / "in" / "deeper").mkdir()
    own = Writer().write(tmp_path / "in" / "deeper" / "a", [A])
    assert OWN.reading(folder, None, tmp_path / "absent").write(own, [B]).read_bytes() == B


def test_the_same_bytes_are_left_as_they_are_whoever_wrote_them(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(A)
    (tmp_path / "fresh").write_bytes(A)
    before = path.stat().st_mtime_ns
    OWN.reading(path).publish({tmp_path / "fresh": path})
    assert path.stat().st_mtime_ns == before
    assert not (tmp_path / "fresh").exists()
    assert module._noted(tmp_path)["files"] == {}  # and stay whose they are


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"format": 2, "files": {}}', b'{"format": 1}', b"\xff", b"mine"],
)
def test_a_manifest_that_is_damaged_or_foreign_stops_all_replacing(tmp_path, content):
    path = Writer().write(tmp_path / "a", [A])
    (tmp_path / MANIFEST).write_bytes(content)
    for target in (path, tmp_path / "new"):
        refused("is damaged or of another program", OWN.write, target, [B])
    assert path.read_bytes() == A
    assert (tmp_path / MANIFEST).read_bytes() == content
    assert not (tmp_path / "new").exists()


def test_a_manifest_that_is_a_link_or_a_folder_is_not_ours(tmp_path):
    (tmp_path / "theirs").write_text(json.dumps({"format": 1, "files": {}}), encoding="utf-8")
    (tmp_path / MANIFEST).symlink_to(tmp_path / "theirs")
    refused("of another program", Writer().write, tmp_path / "a", [A])
    (tmp_path / MANIFEST).unlink()
    (tmp_path / MANIFEST).mkdir()
    refused("of another program", Writer().write, tmp_path / "a", [A])


@pytest.mark.parametrize("at", [0, 1, 2, 3])
@pytest.mark.parametrize("again", [A, B + B])
def test_killed_anywhere_between_two_files_the_next_one_knows_its_own_half(
    tmp_path, monkeypatch, at, again
):
    """One file is new and one replaces another; each renaming, before or after it, may be last."""
    OWN.write(tmp_path / "b", [A])
    steps = [0]

    class Killed(BaseException):
        pass

    def dying(move):
        def instead(*arguments):
            if steps[0] == at:
                raise Killed
            move(*arguments)
            steps[0] += 2
            if steps[0] > at:
                raise Killed

        return instead

    fresh = {tmp_path / f".{name}.tmp": tmp_path / name for name in "ab"}
    for path in fresh:
        path.write_bytes(B)
    with monkeypatch.context() as patched:
        patched.setattr(module, "place_new", dying(place_new))
        patched.setattr(Path, "replace", dying_after_the_manifest(dying(Path.replace)))
        with pytest.raises(Killed):
            OWN.publish(fresh)
    for name in "ab":
        assert OWN.write(tmp_path / name, [again]).read_bytes() == again


def dying_after_the_manifest(instead):
    """The manifest's own renaming is whole or not at all; only the others are cut."""
    real = Path.replace
    return lambda old, new: (real if Path(new).name == MANIFEST else instead)(old, new)


def test_one_output_too_is_finished_by_the_command_that_was_killed(tmp_path, monkeypatch):
    path = tmp_path / "c.csv"

    def killed(folder, names):
        raise KeyboardInterrupt

    with monkeypatch.context() as at:
        at.setattr(module, "_note_whole", killed)
        with pytest.raises(KeyboardInterrupt):
            Writer().write(path, [b"a"])
    assert path.read_bytes() == b"a"
    Writer().write(path, [b"a"])
    with pytest.raises(InputError, match="force"):  # the twin: once whole, it is refused
        Writer().write(path, [b"b"])


def test_a_file_that_comes_while_the_work_is_done_stays(tmp_path):
    def write(writer):
        with writer.file(tmp_path / "a") as temporary:
            temporary.write_bytes(B)
            (tmp_path / "a").write_bytes(A)

    refused("a was not written by dris", write, Writer())
    (tmp_path / "a").unlink()
    refused("a was not written by dris", write, OWN)
    assert (tmp_path / "a").read_bytes() == A
    (tmp_path / "fresh").write_bytes(B)
    refused("came to be while dris worked", place_new, tmp_path / "fresh", tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == A


def test_many_who_write_into_one_folder_lose_no_name(tmp_path):
    def write(number):
        return Writer().write(tmp_path / f"{number}", [A])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    assert set(module._noted(tmp_path)["files"]) == {str(number) for number in range(40)}


def test_names_are_lost_when_nobody_waits_for_the_other(tmp_path, monkeypatch):
    """The twin: without the lock one who read the list before the other wrote it forgets him."""
    real = module._noted

    def and_another(folder):
        found = real(folder)
        monkeypatch.setattr(module, "_noted", real)
        Writer().write(tmp_path / "other", [A])
        return found

    monkeypatch.setattr(module, "_alone_in", lambda folder: nullcontext())
    monkeypatch.setattr(module, "_noted", and_another)
    Writer().write(tmp_path / "own", [A])
    assert set(module._noted(tmp_path)["files"]) == {"own"}
    refused("other was not written by dris", OWN.write, tmp_path / "other", [B])


def test_a_folder_that_the_shell_has_locked_is_written_to_all_the_same(tmp_path, monkeypatch):
    with module._alone_in(tmp_path):
        monkeypatch.setattr(module._alone_in.__wrapped__, "__defaults__", (0.05,))
        assert Writer().write(tmp_path / "a", [A]).read_bytes() == A


def test_only_its_own_and_unchanged_output_is_removed(tmp_path):
    path, foreign = Writer().write(tmp_path / "a", [A]), tmp_path / "f"
    foreign.write_bytes(A)
    refused("f was not written", Writer().remove, foreign)
    refused("is an input", Writer().reading(path).remove, path)
    Writer().remove(path)
    Writer().remove(path)
    assert foreign.exists()
    assert not path.exists()


@given(st.lists(st.sampled_from(["ours", "forced", "theirs", "gone"]), max_size=8))
def test_whatever_happens_a_persons_bytes_outlive_the_command(tmp_path_factory, steps):
    """The last to write by hand finds it so until it is removed by hand."""
    path = tmp_path_factory.mktemp("one") / "a"
    owner, content = None, None
    for number, step in enumerate(steps):
        text = f"{step} {number}".encode()
        if step == "theirs":
            path.write_bytes(text)
            owner, content = "them", text
        elif step == "gone":
            path.unlink(missing_ok=True)
            owner = content = None
        else:
            may = owner is None or (owner == "us" and step == "forced")
            try:
                Writer(force=step == "forced").write(path, [text])
                assert may
                owner, content = "us", text
            except InputError:
                assert not may
        assert (path.read_bytes() if path.exists() else None) == content
