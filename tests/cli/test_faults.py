"""Killed, told to end or out of room, a command leaves nothing that the next one trips on."""

import errno
import json
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from commands import MAIN, run_dris, start_dris, until
from dris.cli import _outcome, output, warn_of_little_memory
from dris.cli.output import showing_notes, signals_as_ctrl_c
from dris.core.errors import InputError
from dris.core.files import is_left, temporary_folder, temporary_for
from dris.data import writer as module
from dris.data.writer import MANIFEST, Writer
from dris.learn.engines.tasks import run_all
from dris.learn.store.locks import folder_lock
from made_people import write_people

QUICK = (
    *("--epochs", "2", "--proxies", "2", "--canaries", "none"),
    *("--skip-harm-check", "--workers", "1"),
)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.csv"
    write_people(path, 200)
    return path


def of_a_killed_process(path):
    """The temporary name that a process which is no more would have drawn."""
    drawn = temporary_for(path).name
    digits = f"{os.getpid():08x}"
    assert digits in drawn
    over = subprocess.Popen(["true"])
    over.wait()
    return path.with_name(drawn.replace(digits, f"{over.pid:08x}"))


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def test_little_address_space_is_said_at_the_start(monkeypatch, capsys):
    resource = pytest.importorskip("resource")
    for most, said in ((900 << 20, "900 MB"), (resource.RLIM_INFINITY, ""), (2 << 30, "")):
        monkeypatch.setattr(resource, "getrlimit", lambda _, most=most: (most, most))
        warn_of_little_memory("dris")
        told = capsys.readouterr().err
        assert said in told
        assert bool(told) == bool(said)


def test_a_set_appears_together_or_not_at_all(tmp_path):
    def disk_is_full():
        with Writer().together() as writer:
            writer.write(tmp_path / "kept.csv", [b"a"])
            assert not (tmp_path / "kept.csv").exists()
            with writer.file(tmp_path / "report.html"):
                raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match="No space left"):
        disk_is_full()
    assert list(tmp_path.iterdir()) == []
    with Writer().together() as writer:
        writer.write(tmp_path / "kept.csv", [b"a"])
        writer.write(tmp_path / "report.html", [b"b"])
    assert set(contents(tmp_path)) == {MANIFEST, "kept.csv", "report.html"}
    assert set(module._noted(tmp_path)["files"]) == {"kept.csv", "report.html"}
    assert "unfinished" not in json.loads((tmp_path / MANIFEST).read_text(encoding="utf-8"))
    with pytest.raises(InputError, match="force"):
        Writer().refuse(tmp_path / "kept.csv")


def test_killed_between_two_names_the_same_command_finishes_its_half(tmp_path, monkeypatch):
    def write_both(folder):
        folder.mkdir(exist_ok=True)
        Writer().refuse(folder / "kept.csv", folder / "report.html")
        with Writer().together() as writer:
            writer.write(folder / "kept.csv", [b"a"])
            writer.write(folder / "report.html", [b"b"])

    write_both(tmp_path / "whole")
    places = []

    def killed(fresh, target):
        if places:
            raise SystemExit  # nothing after this, as after a kill
        places.append(target)
        real(fresh, target)

    real = module.place_new
    monkeypatch.setattr(module, "place_new", killed)
    with pytest.raises(SystemExit):
        write_both(tmp_path / "half")
    monkeypatch.undo()
    assert (tmp_path / "half" / "kept.csv").exists() != (tmp_path / "half" / "report.html").exists()
    write_both(tmp_path / "half")
    assert contents(tmp_path / "half") == contents(tmp_path / "whole")
    # The twins: what is whole is refused as ever, and a half that a person edited is theirs.
    with pytest.raises(InputError, match="force"):
        write_both(tmp_path / "half")
    places.clear()
    monkeypatch.setattr(module, "place_new", killed)
    with pytest.raises(SystemExit):
        write_both(tmp_path / "other")
    monkeypatch.undo()
    half = next(path for path in (tmp_path / "other").iterdir() if path.name != MANIFEST)
    half.write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="so it is yours"):
        write_both(tmp_path / "other")


def test_what_a_killed_process_left_goes_and_what_others_have_stays(tmp_path):
    left, living = of_a_killed_process(tmp_path / "a.csv"), temporary_for(tmp_path / "a.csv")
    elsewhere = tmp_path / f".a.csv.{'0' * 32}.tmp"  # of a machine that is not this one
    notes = tmp_path / ".notes.tmp"
    for path in (left, living, elsewhere, notes):
        path.write_text("half", encoding="utf-8")
    Writer().write(tmp_path / "a.csv", [b"a"])
    assert not left.exists()
    assert all(path.exists() for path in (living, elsewhere, notes))
    assert not is_left(living.name)


def test_temporary_folders_of_killed_processes_go_with_the_next_one(tmp_path):
    dead = tmp_path / of_a_killed_process(Path("x")).name.replace(".x.", "dris-")[: -len(".tmp")]
    dead.mkdir()
    (dead / "array").write_text("", encoding="utf-8")
    with temporary_folder(tmp_path) as folder:
        assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("where", ["before the first name", "after the first name"])
def test_a_killed_clean_is_finished_by_the_same_command_to_the_same_bytes(people, tmp_path, where):
    words = ["clean", str(people), "--label", "income", "--id", "person", *QUICK]
    code = (
        "import os, sys\n"
        "from dris.data import writer\n"
        "real, places = writer.place_new, []\n"
        "def killed(fresh, target):\n"
        f"    if places or {where.startswith('before')!r}: os.kill(os.getpid(), 9)\n"
        "    places.append(target); real(fresh, target)\n"
        "writer.place_new = killed\n"
    )

    def ran(code, where):  # the recipe names the output as it was typed: the same in both places
        (tmp_path / where).mkdir(exist_ok=True)
        return run_dris(*words, "--out", "out", cwd=tmp_path / where, before=code)

    assert ran("", "whole").returncode == 0
    assert ran(code, "cut").returncode == -signal.SIGKILL
    again = ran("", "cut")
    assert again.returncode == 0, again.stderr
    assert contents(tmp_path / "cut" / "out") == contents(tmp_path / "whole" / "out")


SLEEPING = """
import os, sys, time
from pathlib import Path
from dris.learn.engines.tasks import run_all

def sleeping(number, tick):
    Path(sys.argv[1], str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    run_all(sleeping, [(0,), (1,)], workers=2)
"""


def running(pid):
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            != "Z"
        )
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are read from /proc")
def test_workers_end_within_seconds_of_a_killed_command(tmp_path):
    script = tmp_path / "sleeping.py"
    script.write_text(SLEEPING, encoding="utf-8")
    (tmp_path / "at").mkdir()
    child = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "at")], stderr=subprocess.DEVNULL
    )
    with child:
        until(lambda: len(list((tmp_path / "at").iterdir())) == 2)
        workers = [int(path.name) for path in (tmp_path / "at").iterdir()]
        assert all(map(running, workers))  # and without the command's end they go on
        child.kill()
    until(lambda: not any(map(running, workers)), seconds=30)


def test_a_killed_worker_is_one_sentence_with_the_remedy():
    with pytest.raises(InputError, match=r"was killed, most likely .*workers=1") as told:
        run_all(_killed, [(0,), (1,)], workers=2)
    assert "\n" not in str(told.value)
    assert run_all(_fine, [(0,), (1,)], workers=2) == [0, 1]  # others come in their place


def _killed(number, tick):
    if number:
        os.kill(os.getpid(), signal.SIGKILL)


def _fine(number, tick):
    return number


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_a_command_told_to_end_says_the_command_that_goes_on(people, tmp_path, told):
    # So many epochs that it still trains where a busy machine looks late.
    words = ["clean", str(people), "--label", "income", "--epochs", "5000", "--workers", "1"]
    with start_dris(*words, cwd=tmp_path) as child:
        until(lambda: list(tmp_path.glob("dris-out/runs/*/key.json")))
        child.send_signal(told)
        printed = child.stderr.read()
    assert child.returncode == 130
    assert f"to go on: dris {shlex.join(words)}" in printed
    assert printed.endswith("dris: interrupted\n")
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "a.csv"), "a.csv: .* free space"),
        (OSError(errno.ENOLCK, "No locks available", "runs/lock"), "runs/lock: .* --store"),
        (OSError(errno.EACCES, "Permission denied", "a"), "a: .* permissions"),
        (MemoryError("Unable to allocate 8 GiB"), r"out of memory \(Unable .*--workers 1"),
        (MemoryError(), "out of memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "out of memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "--workers 1"),
    ],
)
def test_what_the_system_refuses_names_the_file_and_the_remedy(error, says):
    code, sentence = _outcome(error)
    assert code == 1
    assert re.search(says, sentence)
    assert "Errno" not in sentence
    assert "\n" not in sentence


def test_a_full_disk_names_the_run_and_the_command_that_goes_on(people, tmp_path):
    code = (
        "import errno, os\n"
        "def full(*_): raise OSError(errno.ENOSPC, 'No space left on device')\n"
        "os.fsync = full\n"
    )
    words = ["clean", people, "--label", "income", "--epochs", "2", "--workers", "1"]
    done = run_dris(*words, cwd=tmp_path, before=code)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert "No space left on device" in last
    assert "dris-out/runs" in last
    assert "free space" in last
    assert "Errno" not in last


def test_a_store_that_is_waited_for_is_said_at_once(capsys):
    with showing_notes():
        logging.getLogger("dris.store").info("waiting for process %s, which holds %s", 7, "runs/a")
        logging.getLogger("dris").info("not for people")
    assert capsys.readouterr().err == "dris: waiting for process 7, which holds runs/a\n"
    logging.getLogger("dris.store").info("outside of a command nothing is said")
    assert capsys.readouterr().err == ""


def test_who_waits_for_another_process_says_so_before_it_waits(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from dris.cli.output import showing_notes\n"
        "from dris.learn.store.locks import folder_lock\n"
        "with showing_notes(), folder_lock(Path(sys.argv[1])): print('held', flush=True)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with folder_lock(tmp_path):
        child = subprocess.Popen(command, **pipes)
        printed = child.stderr.readline()  # while the lock is held
    with child:
        assert child.stdout.read() == "held\n"
    assert printed == f"dris: waiting for process {os.getpid()}, which holds {tmp_path}\n"


def test_workers_of_a_command_say_so_too():
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown()  # a command's workers are younger than the command
    with showing_notes():
        assert run_all(_level, [(0,), (1,)], workers=2) == [logging.INFO] * 2
    get_reusable_executor().shutdown()  # whoever comes next has others, which say nothing
    assert "DRIS_NOTES" not in os.environ


def _level(number, tick):
    return logging.getLogger("dris.store").level


def test_a_disk_without_locks_names_the_lock(tmp_path, monkeypatch):
    import filelock

    def none(*_, **__):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock.FileLock, "acquire", none)
    with pytest.raises(OSError, match="No locks") as told, folder_lock(tmp_path):
        pass
    code, sentence = _outcome(told.value)
    assert code == 1
    assert sentence.startswith(f"{tmp_path / 'lock'}: ")
    assert "--store" in sentence


CLOSED = """
import os, sys
for number in (0, 1, 2): os.close(number)
sys.stdin = sys.stdout = sys.stderr = None
from dris.cli.output import open_closed_streams
{opening}
file = open("out.txt", "w")
os.write(file.fileno(), bytes([file.fileno()]))
os.write(file.fileno(), bytes(map(os.get_inheritable, range(3))))
print("said"), print("said", file=sys.stderr)
os.system("echo printed; echo printed >&2")
"""


def test_what_is_said_on_a_closed_stream_goes_into_no_file(tmp_path):
    code = CLOSED.format(opening="open_closed_streams()")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    written = (tmp_path / "out.txt").read_bytes()
    assert written[0] > 2
    assert written[1:] == b"\1\1\1"
    # The twin: without it the file takes a stream's number, and gets what is printed there.
    subprocess.run([sys.executable, "-c", CLOSED.format(opening="")], cwd=tmp_path, check=False)
    assert (tmp_path / "out.txt").read_bytes()[0] <= 2


@pytest.mark.skipif(os.name != "posix", reason="a shell that closes streams")
def test_a_command_without_streams_ends_well(tmp_path):
    command = shlex.join([sys.executable, "-c", MAIN, "rules"])
    assert subprocess.run(["sh", "-c", f"{command} >&- 2>&- <&-"], cwd=tmp_path).returncode == 0


def test_ctrl_c_while_a_class_is_made_is_an_interruption_and_no_defect_of_dris():
    class Told:
        def __set_name__(self, owner, name):
            raise KeyboardInterrupt

    def imported():
        class Made:
            told = Told()

    def read():
        try:
            imported()
        except RuntimeError:
            raise InputError("a.csv cannot be read") from None

    for work in (imported, read):
        with pytest.raises((KeyboardInterrupt, RuntimeError, InputError)) as told:
            work()
        if not isinstance(told.value, KeyboardInterrupt):  # newer versions of Python wrap nothing
            assert _outcome(told.value) == (130, "interrupted")
    assert _outcome(RuntimeError("x"))[0] == 70  # the twin


@pytest.mark.parametrize(("patience", "heard"), [(0.05, True), (60.0, False)])
def test_who_is_told_to_end_and_does_not_hear_is_told_again(monkeypatch, patience, heard):
    def deaf():
        signal.raise_signal(signal.SIGTERM)

    def work():
        with suppress(KeyboardInterrupt):  # as libraries do that drop whatever is raised
            deaf()
        for _ in range(50):
            time.sleep(0.02)

    monkeypatch.setattr(output, "PATIENCE", patience)
    with pytest.raises(KeyboardInterrupt) if heard else nullcontext(), signals_as_ctrl_c():
        work()
    assert [t for t in threading.enumerate() if isinstance(t, threading.Timer)] == []


def test_ctrl_c_before_a_command_has_begun_is_no_traceback(tmp_path):
    code = (
        "import signal, sys, types\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer': signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    started = "from dris._start import main as start; start()\n"
    begun = run_dris("rules", cwd=tmp_path, before=code + started)
    assert (begun.returncode, begun.stderr) == (-signal.SIGINT, "")
    assert "Traceback" in run_dris("rules", cwd=tmp_path, before=code).stderr  # the twin
