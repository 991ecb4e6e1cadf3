"""A short form of `make kill`, and twins: what it looks for, it sees."""

import os
import random
import shutil
from pathlib import Path

import pytest

import kill

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are read there"),
]


def test_commands_that_are_killed_end_in_the_same_bytes_and_leave_nothing(monkeypatch):
    monkeypatch.setattr(kill, "WAIT", 60.0)  # of a machine that has other work
    monkeypatch.setattr(kill, "LIMIT", 900.0)
    count, _, bad = kill.run_many(14, seed=1)
    assert bad == []
    assert sum(count.values()) == 14


def test_a_command_that_leaves_half_a_set_is_seen(tmp_path):
    whole = kill.Whole({"kept.csv": b"a", "report.html": b"b"}, 1, 0.0)
    with kill.prepared() as home:
        words = "audit draw data.csv --label kind --id name --n 5 --out o/c.csv"
        _, wrong = kill.one_kill(words, whole, home, random.Random(0), several=False)
    assert "kept.csv is missing" in wrong
    assert "c.csv is left over" in wrong


def test_what_is_left_in_the_temporary_folder_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(kill, "WAIT", 0.0)
    (tmp_path / "tmp" / "dris-left").mkdir(parents=True)
    assert [path.name for path in kill._left(tmp_path)] == ["dris-left"]


def test_a_process_that_goes_on_is_seen():
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(shutil.which("sleep") or "sleep", ["sleep", "20"])
        os._exit(0)
    os.waitpid(child, 0)
    found = kill._processes(child)
    while not found:
        found = kill._processes(child)
    assert kill._session_of(child)
    for pid, _ in found:
        os.kill(pid, 9)
