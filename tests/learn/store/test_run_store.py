"""The store: killed anywhere, a run resumes and ends in the same bytes."""

import itertools
import logging
import os
import shutil
import signal
import time
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import until
from dris.core.dynamics.dynamics import Dynamics
from dris.core.dynamics.dynamics_file import write_arrays
from dris.core.errors import InputError
from dris.learn.store import runs
from dris.learn.store.locks import LockedError, folder_lock
from dris.learn.store.run_store import Store, fingerprint
from dris.learn.store.runs import Outcome
from toy_training import KEY, TWINS, Nursery, train

RESULT = ["done.json", "dynamics.safetensors", "key.json", "lock", "timing.json"]


@pytest.fixture(scope="module", autouse=True)
def _no_waiting_for_the_disk():
    # A kill loses nothing that was handed to the kernel; only a power cut would.
    with mock.patch.object(os, "fsync"):
        yield


@pytest.fixture(scope="module")
def nursery():
    with Nursery() as n:
        yield n


def contents(root):
    """Everything that must not depend on luck: all files but the timings and the lock."""
    return {
        str(p.relative_to(root)): p.read_bytes()
        for p in sorted(Path(root).rglob("*"))
        if p.is_file() and p.name not in ("timing.json", "lock")
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    root = tmp_path_factory.mktemp("undisturbed")
    train(root)
    return contents(root)


@pytest.fixture(scope="module")
def two_epochs(tmp_path_factory):
    root = tmp_path_factory.mktemp("two_epochs")
    train(root, epochs=2)
    return contents(root)


def problem(root, log, undisturbed):
    """What the store did wrong, or None."""
    saved = 0
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else []:
        *what, epoch = line.split()
        if what == ["start"] and int(epoch) < saved:
            return f"epoch {saved} was saved, yet work went on from {epoch}"
        saved = max(saved, int(epoch))
    got = contents(root)
    if got != undisturbed:
        return f"other bytes than undisturbed: {sorted(got)} against {sorted(undisturbed)}"
    return None if list(Path(root).rglob("timing.json")) else "the timing is missing"


def only_folder(root):
    (folder,) = Path(root).iterdir()
    return folder


def arrays(*values):
    return {"x": np.array(values)}


def test_a_run_goes_from_nothing_over_epochs_to_done(tmp_path):
    run = Store(tmp_path).run(KEY)
    assert not run.done
    assert not run.folder.exists()
    with run.locked():
        assert run.checkpoint() is None
        run.save_epochs([arrays(1.0)], arrays(10))
        run.save_epochs([arrays(2.0)], arrays(20))
    again = Store(tmp_path).run(KEY)
    with again.locked():
        last = again.checkpoint()
        assert (last.epoch, last.state["x"].tolist()) == (2, [20])
        assert [r["x"].tolist() for r in last.records] == [[1.0], [2.0]]
        again.save_epochs([{}], arrays(30))
        assert again.checkpoint().records[2] == {}
        again.finish(Dynamics.from_losses([[0.5, 0.25]]), seconds=3)
    assert again.done
    assert run.load().loss.tolist() == [[[0.5, 0.25]]]
    assert '"seconds": 3.0' in (run.folder / runs.TIMING).read_text(encoding="utf-8")
    assert sorted(p.name for p in run.folder.iterdir()) == RESULT


def test_a_run_without_a_checkpoint_starts_over_and_keeps_no_later_epoch(tmp_path):
    run = Store(tmp_path).run(KEY)
    with run.locked():
        for epoch in (1, 2, 3):
            run.save_epochs([arrays(epoch)], arrays(epoch))
    with run.locked():
        run.save_epochs([arrays(-1)], arrays(-1))
        assert [r["x"].tolist() for r in run.checkpoint().records] == [[-1]]


def test_the_same_key_is_the_same_run_whatever_its_order(tmp_path):
    store = Store(tmp_path)
    one = store.run({"a": 1, "b": {"c": [1, 2], "d": None}})
    assert one.folder == store.run({"b": {"d": None, "c": (1, 2)}, "a": 1}).folder
    assert len(one.folder.name) == 32
    others = [{"a": 2}, {"a": "1"}, {"a": 1.0}, {"a": True}, {"a": [1]}, {"b": 1}, {}]
    assert len({store.run(k).folder for k in [{"a": 1}, *others]}) == 8


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ({"a": float("nan")}, "key.a must be plain JSON, got float nan"),
        ({"a": [1, np.int64(2)]}, r"key.a\[1\] must be plain JSON, got int64"),
        ({"a": {"b": np.arange(3)}}, r"key.a.b must be plain JSON, got ndarray .*fingerprint"),
        ({"a": {1, 2}}, "got set"),
        ({1: "a"}, "key must be named by strings, got 1"),
    ],
)
def test_keys_that_are_not_plain_are_refused(tmp_path, key, words):
    with pytest.raises(InputError, match=words):
        Store(tmp_path).run(key)


def test_the_root_is_given_or_named_by_the_environment_or_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("DRIS_STORE", raising=False)
    assert Store().root == tmp_path / "home" / ".cache" / "dris" / "runs"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert Store().root == tmp_path / "cache" / "dris" / "runs"
    monkeypatch.setenv("DRIS_STORE", str(tmp_path / "mine"))
    assert Store().root == tmp_path / "mine"
    assert Store(tmp_path).root == tmp_path
    assert Store().runs() == []


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_a_fingerprint_sees_values_not_memory(shape, random):
    a = np.array([random.random() for _ in range(int(np.prod(shape)))]).reshape(shape)
    padded = np.zeros([2 * n for n in shape])
    strided = padded[tuple(slice(None, None, 2) for _ in shape)]
    strided[...] = a
    assert fingerprint(a) == fingerprint(strided) == fingerprint(np.asfortranarray(a))
    b = a.copy()
    b.flat[random.randrange(a.size)] += 1
    assert fingerprint(b) != fingerprint(a)


def test_thirty_kills_at_random_moments_lose_no_epoch_and_no_byte(tmp_path, nursery):
    big = {"width": 20_000, "pause": 0.001}
    nursery.run(tmp_path / "warm", **big)
    begun = time.monotonic()
    assert nursery.run(tmp_path / "undisturbed", **big) == 0
    span = time.monotonic() - begun
    undisturbed = contents(tmp_path / "undisturbed")
    rng = np.random.default_rng(0)
    kills = 0
    for k in itertools.count():
        root, log, code = tmp_path / str(k), tmp_path / f"{k}.log", -1
        while code != 0:
            pid = nursery.start(root, log=str(log), **big)
            if kills < 30:
                time.sleep(rng.uniform(0, span))
                os.kill(pid, signal.SIGKILL)
            code = nursery.wait(pid)
            kills += code == -signal.SIGKILL
        assert problem(root, log, undisturbed) is None
        if kills >= 30:
            break


def faults(nursery, folder, kind, twin=None):
    """For every k, break the k-th touch of the disk, then restart; yield what went wrong."""
    for k in itertools.count(1):
        root, log = folder / str(k), folder / f"{k}.log"
        job = {"root": root, "log": str(log), "epochs": 2, "twin": twin}
        code = nursery.run(**job, strike=[kind, k])
        if code == 0:
            break
        assert code == {"kill": -signal.SIGKILL, "raise": 3}[kind]
        yield k, root, log, nursery.run(**job)


@pytest.mark.parametrize("kind", ["kill", "raise"])
def test_a_fault_at_every_single_touch_of_the_disk_is_survived(kind, tmp_path, nursery, two_epochs):
    k = 0
    for k, root, log, code in faults(nursery, tmp_path, kind):
        assert code == 0
        assert problem(root, log, two_epochs) is None, f"at touch {k}"
    assert k > 35


@pytest.mark.parametrize("twin", TWINS)
def test_the_same_check_catches_a_store_that_is_wrong(twin, tmp_path, nursery, two_epochs):
    assert nursery.run(tmp_path / "lucky", log=str(tmp_path / "log"), epochs=2, twin=twin) == 0
    assert problem(tmp_path / "lucky", tmp_path / "log", two_epochs) is None
    caught = (
        problem(root, log, two_epochs) or ""
        for _, root, log, code in faults(nursery, tmp_path, "kill", twin)
        if code == 0
    )
    assert any("was saved, yet work went on from" in c for c in caught)


def test_bytes_are_on_the_disk_before_a_name_points_to_them(tmp_path, monkeypatch):
    done = []
    for name in ("fsync", "replace"):
        call = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, n=name, c=call: (done.append(n), c(*a)))
    run = Store(tmp_path).run(KEY)
    with run.locked():
        run.save_epochs([{}], {})
        run.finish(Dynamics.from_losses(np.eye(2)), seconds=0)
    assert done == ["fsync", "replace"] * 6  # key, record, state; timing, dynamics, done


def test_a_full_disk_is_one_sentence_and_keeps_the_epochs(tmp_path, nursery):
    # The result, 3 epochs × 400 × 5 bytes, is the one file too large for the limit.
    log, big = tmp_path / "log", {"width": 400}
    assert nursery.run(tmp_path / "a", log=str(log), file_limit=6000, **big) == 3
    *_, saved, told = log.read_text(encoding="utf-8").splitlines()
    assert saved == "saved 3"
    assert "the result could not be saved, all epochs are kept (File too large)" in told
    log.unlink()
    assert nursery.run(tmp_path / "a", log=str(log), **big) == 0
    assert log.read_text(encoding="utf-8") == "start 3\n"
    log.unlink()
    assert nursery.run(tmp_path / "b", log=str(log), file_limit=2000, **big) == 3
    assert "epoch 1 could not be saved, the epochs before it are kept" in log.read_text(
        encoding="utf-8"
    )


def test_three_processes_on_one_run_survive_kills_of_whoever_works(tmp_path, nursery, undisturbed):
    rng = np.random.default_rng(1)
    log, root = tmp_path / "log", tmp_path / "store"
    for _ in range(8):
        pids = [nursery.start(root, log=str(log), pause=0.01) for _ in range(3)]
        for pid in pids[:2]:
            time.sleep(rng.uniform(0, 0.02))
            os.kill(pid, signal.SIGKILL)
        assert [nursery.wait(pid) for pid in pids][2] == 0
        assert problem(root, log, undisturbed) is None
        shutil.rmtree(root)
        log.unlink()


def test_a_held_run_names_its_holder_and_is_free_once_that_is_killed(tmp_path, nursery):
    run = Store(tmp_path / "store").run(KEY)
    pid = nursery.start(tmp_path / "store", job="hold", log=str(tmp_path / "log"))
    until((tmp_path / "log").exists)
    (info,) = Store(tmp_path / "store").runs()
    assert (info.state, info.epoch) == ("running", 0)
    assert Store(tmp_path / "store").clean(keep=lambda _: False, unfinished=True).removed == ()
    with pytest.raises(LockedError, match=f"in use by process {pid}; let it finish"):
        run.locked(wait=False).__enter__()
    os.kill(pid, signal.SIGKILL)
    assert nursery.wait(pid) == -signal.SIGKILL
    with run.locked(wait=False):
        assert run.checkpoint() is None


def test_a_child_of_a_killed_holder_does_not_keep_the_lock(tmp_path, nursery):
    log = tmp_path / "log"
    pid = nursery.start(tmp_path / "store", job="hold", log=str(log), orphan=True)
    until(lambda: log.exists() and log.read_text(encoding="utf-8").endswith("\n"))
    orphan = int(log.read_text(encoding="utf-8").split()[1])
    os.kill(pid, signal.SIGKILL)
    nursery.wait(pid)
    try:
        os.kill(orphan, 0)  # it lives on
        with Store(tmp_path / "store").run(KEY).locked(wait=False):
            pass
    finally:
        os.kill(orphan, signal.SIGKILL)


def test_who_waits_for_a_run_that_is_cleaned_away_makes_it_anew(tmp_path, nursery, undisturbed):
    root, log = tmp_path / "store", tmp_path / "log"
    folder = root / next(iter(undisturbed)).split("/")[0]
    with folder_lock(folder):
        pid = nursery.start(root, log=str(log))
        time.sleep(0.3)
        assert not log.exists()
        folder.rename(tmp_path / "gone")
    assert nursery.wait(pid) == 0
    assert problem(root, log, undisturbed) is None


def test_a_run_is_locked_once_and_written_only_under_the_lock(tmp_path):
    run = Store(tmp_path).run(KEY)
    with run.locked():
        with pytest.raises(InputError, match="is locked already"), run.locked():
            pass
        run.save_epochs([{}], {})
    for call in (
        run.checkpoint,
        lambda: run.save_epochs([{}], {}),
        lambda: run.finish(Dynamics.from_losses(np.eye(2)), seconds=0),
    ):
        with pytest.raises(InputError, match="needs the lock; call it inside"):
            call()
    with pytest.raises(InputError, match="holds no finished run"):
        run.load()


def test_arrays_are_never_converted_in_silence(tmp_path):
    run = Store(tmp_path).run(KEY)
    with run.locked():
        run.save_epochs([{}], {})
        for bad in (np.array([1j]), np.array(["a"]), np.array([None])):
            with pytest.raises(InputError, match=r"x has dtype .* convert it first"):
                run.save_epochs([{}], {"x": bad})
        assert run.checkpoint().epoch == 1


def damages(whole):
    """Changed bytes all over a file, cut off, emptied."""
    for at in np.linspace(0, len(whole) - 1, 9).astype(int):
        yield whole[:at] + bytes([whole[at] ^ 0x04]) + whole[at + 1 :]
    yield from (whole[: len(whole) // 2], b"")


def after_damage(start, name, damaged, root, caplog):
    """Train on from `start` with one file damaged; what was set aside and what was said."""
    shutil.copytree(start, root)
    (only_folder(root) / name).write_bytes(damaged)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "dris"):
        train(root)
    aside = {p.name: p.read_bytes() for p in only_folder(root).glob("*.damaged")}
    for p in only_folder(root).glob("*.damaged"):
        p.unlink()
    return aside, caplog.messages


@pytest.mark.parametrize("name", ["state.safetensors", "epoch-00001.safetensors", "key.json"])
def test_a_damaged_file_is_set_aside_said_once_and_recomputed(name, tmp_path, caplog, undisturbed):
    train(tmp_path / "start", stop_after=2)
    whole = (only_folder(tmp_path / "start") / name).read_bytes()
    for k, damaged in enumerate(damages(whole)):
        root = tmp_path / str(k)
        aside, message = after_damage(tmp_path / "start", name, damaged, root, caplog)
        assert aside == {f"{name}.damaged": damaged}
        (line,) = message
        assert f"{name} set aside as {name}.damaged, it is computed again: " in line
        assert contents(root) == undisturbed


@pytest.mark.parametrize("name", ["dynamics.safetensors", "done.json"])
def test_a_damaged_result_or_mark_is_recomputed(name, tmp_path, caplog, undisturbed):
    train(tmp_path / "start")
    whole = (only_folder(tmp_path / "start") / name).read_bytes()
    result = (only_folder(tmp_path / "start") / "dynamics.safetensors").read_bytes()
    for k, damaged in enumerate(damages(whole)):
        root = tmp_path / str(k)
        aside, message = after_damage(tmp_path / "start", name, damaged, root, caplog)
        kept = damaged if name.startswith("dynamics") else result
        assert aside == {"dynamics.safetensors.damaged": kept}
        assert len(message) == 1
        assert contents(root) == undisturbed


def test_a_record_that_is_missing_or_of_another_epoch_or_run_is_recomputed(
    tmp_path, caplog, undisturbed
):
    train(tmp_path / "start", stop_after=3)
    train(tmp_path / "wide", stop_after=3, width=6)
    first, second = (f"epoch-0000{e}.safetensors" for e in (1, 2))
    for k, source in enumerate((only_folder(tmp_path / "start") / second, None)):
        foreign = (source or only_folder(tmp_path / "wide") / first).read_bytes()
        root = tmp_path / str(k)
        aside, message = after_damage(tmp_path / "start", first, foreign, root, caplog)
        assert list(aside) == [f"{first}.damaged"]
        assert "belongs to another run or epoch" in message[0]
        assert contents(root) == undisturbed
    (only_folder(tmp_path / "start") / first).unlink()
    train(tmp_path / "start")
    assert contents(tmp_path / "start") == undisturbed


@pytest.fixture
def zoo(tmp_path, monkeypatch):
    """One run of each state, by the name of the state."""
    root = tmp_path / "store"
    store = Store(root)
    train(root)
    train(root, width=6, stop_after=2)
    train(root, width=7)
    train(root, width=8, stop_after=1)
    monkeypatch.setattr("dris.learn.store.run_store.FORMAT", 0)
    monkeypatch.setattr("dris.learn.store.runs.FORMAT", 0)
    train(root, width=9)
    monkeypatch.undo()
    (store.run({**KEY, "width": 7}).folder / runs.DYNAMICS).write_bytes(b"broken")
    (store.run({**KEY, "width": 8}).folder / runs.KEY).write_bytes(b"broken")
    (store.run({**KEY, "width": 5}).folder / "state.safetensors.damaged").write_bytes(b"12345")
    (store.run({**KEY, "width": 6}).folder / f".key.json.{'ab' * 16}.tmp").write_bytes(b"123")
    (root / "holiday.txt").write_text("mine", encoding="utf-8")
    (root / "photos").mkdir()
    (root / "photos" / "me.damaged").write_text("mine", encoding="utf-8")
    return store


def listed(store):
    return sorted(
        (info.key["width"] if info.key else 0, info.state, info.epoch) for info in store.runs()
    )


def test_runs_are_listed_with_what_they_are_and_how_they_stand(zoo):
    assert listed(zoo) == [
        (0, "damaged", 1),
        (5, "done", 3),
        (6, "unfinished", 2),
        (7, "damaged", None),
        (9, "other format", 3),
    ]
    (six,) = (info for info in zoo.runs() if info.state == "unfinished")
    assert six.bytes == sum(p.stat().st_size for p in (zoo.root / six.name).iterdir())
    assert 0 <= six.age < 60
    ages = [info.age for info in zoo.runs()]
    assert ages == sorted(ages)


def test_cleaning_removes_what_nobody_can_use_and_nothing_else(zoo):
    def total():
        return sum(p.stat().st_size for p in zoo.root.rglob("*") if p.is_file())

    before = total()
    cleaned = zoo.clean()
    assert listed(zoo) == [(5, "done", 3), (6, "unfinished", 2)]
    assert cleaned.bytes == before - total()
    assert len(cleaned.removed) == 5
    assert sum("/" in name for name in cleaned.removed) == 2
    assert (zoo.root / "photos" / "me.damaged").read_text(encoding="utf-8") == "mine"
    assert (zoo.root / "holiday.txt").read_text(encoding="utf-8") == "mine"
    assert zoo.clean().removed == ()
    assert len(zoo.clean(unfinished=True).removed) == 1
    assert listed(zoo) == [(5, "done", 3)]
    assert zoo.clean(keep=lambda info: info.key["width"] == 5).removed == ()
    assert len(zoo.clean(keep=lambda info: info.key["width"] == 6).removed) == 1
    assert zoo.runs() == []


def test_a_folder_with_the_name_of_a_run_is_one_by_what_is_in_it(tmp_path):
    names = [f"{number:032x}" for number in range(6)]
    thesis, empty, key, sealed, begun, link = (tmp_path / "store" / name for name in names)
    for folder in (thesis, empty, key, sealed, begun):
        folder.mkdir(parents=True)
    (thesis / "thesis.txt").write_text("mine", encoding="utf-8")
    (thesis / "lock").write_text("", encoding="utf-8")
    (key / "key.json").write_text(
        '{"format": 1, "key": {}}', encoding="utf-8"
    )  # not what the folder is called
    write_arrays(sealed / "state.safetensors", {"x": np.ones(2)}, {"epoch": 1}, format=1)
    (begun / "lock").write_text("123", encoding="utf-8")
    link.symlink_to(tmp_path)
    store = Store(tmp_path / "store")
    assert {info.name for info in store.runs()} == {sealed.name, begun.name}
    assert set(store.foreign()) == {folder.name for folder in (thesis, empty, key, link)}
    cleaned = store.clean(unfinished=True)
    assert set(cleaned.removed) == {sealed.name, begun.name}
    assert (thesis / "thesis.txt").read_text(encoding="utf-8") == "mine"
    assert [p.name for p in (tmp_path / "store").iterdir() if p.name == key.name]


def test_a_persons_file_in_a_run_outlives_the_run(tmp_path):
    train(tmp_path)
    folder = only_folder(tmp_path)
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    (folder / "photo.damaged").write_text("mine", encoding="utf-8")
    (folder / ".draft.tmp").write_text("mine", encoding="utf-8")
    train(tmp_path)
    store = Store(tmp_path)
    assert store.foreign() == (folder.name,)
    assert store.clean().removed == ()
    cleaned = store.clean(keep=lambda _: False)
    assert cleaned.removed == (folder.name,)
    assert store.foreign() == (folder.name,)
    assert sorted(p.name for p in folder.iterdir()) == [".draft.tmp", "notes.txt", "photo.damaged"]


def test_a_lock_that_somebody_else_wrote_is_not_emptied(tmp_path):
    (tmp_path / "lock").write_text("the lock of my bicycle: 4711", encoding="utf-8")
    with pytest.raises(InputError, match="lock was not written by dris"), folder_lock(tmp_path):
        pass
    assert "4711" in (tmp_path / "lock").read_text(encoding="utf-8")


def test_a_run_that_is_held_is_never_cleaned(zoo):
    with zoo.run({**KEY, "width": 7}).locked():
        zoo.clean(keep=lambda _: False, unfinished=True)
        assert listed(zoo) == [(7, "running", 0)]
    assert len(zoo.clean(unfinished=True).removed) == 1


def test_a_cleaning_that_was_killed_half_way_is_finished_by_the_next(tmp_path, monkeypatch):
    train(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr("dris.learn.store.run_store._empty", lambda *_: None)
        Store(tmp_path).clean(keep=lambda _: False)
    assert Store(tmp_path).runs() == []
    assert only_folder(tmp_path).name.endswith(".removed")
    assert Store(tmp_path).clean().bytes > 0
    assert list(tmp_path.iterdir()) == []


def finished_with_an_outcome(root):
    run = Store(root).run({"model": "target"})
    with run.locked():
        if not run.done:
            run.save_epochs([arrays(1.0)], arrays(2.0))
            run.finish(Outcome(1, arrays(3.0), {"accuracy": 0.5, "log": []}), seconds=1.0)
    return run


def test_a_run_may_finish_with_arrays_and_a_note(tmp_path):
    run = finished_with_an_outcome(tmp_path)
    got = run.outcome()
    assert (got.epochs, got.arrays["x"].tolist(), got.note["accuracy"]) == (1, [3.0], 0.5)
    names = sorted(p.name for p in run.folder.iterdir())
    assert names == ["done.json", "key.json", "lock", "outcome.safetensors", "timing.json"]
    (info,) = Store(tmp_path).runs()
    assert (info.state, info.epoch) == ("done", 1)


def test_an_outcome_killed_before_its_mark_counts_and_a_damaged_one_does_not(tmp_path, caplog):
    run = finished_with_an_outcome(tmp_path)
    whole = contents(tmp_path)
    (run.folder / runs.DONE).unlink()
    assert not run.done
    finished_with_an_outcome(tmp_path)
    assert contents(tmp_path) == whole
    path = run.folder / runs.OUTCOME
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    assert not run.done
    assert [info.state for info in Store(tmp_path).runs()] == ["damaged"]
    finished_with_an_outcome(tmp_path)
    assert "set aside" in caplog.text
    assert run.outcome().arrays["x"].tolist() == [3.0]
