"""`dris` and Python in a process of their own, as a user meets them."""

import os
import subprocess
import sys
import time
from pathlib import Path

import dris

MAIN = "from dris.cli import main; main()"
SOURCE = str(Path(dris.__file__).parents[1])


def how(before, words, cwd, env):
    """What `subprocess` takes: code to run before, the words, the folder, the variables."""
    command = [sys.executable, "-c", before + MAIN, *map(str, words)]
    variables = {**os.environ, "PYTHONPATH": SOURCE, **env}
    return {"args": command, "cwd": cwd, "env": variables, "text": True, "encoding": "utf-8"}


def run_dris(*words, cwd=None, before="", timeout=None, **env):
    """Run a command to its end."""
    how_to = how(before, words, cwd, env)
    return subprocess.run(**how_to, capture_output=True, check=False, timeout=timeout)


def run_python(*words, cwd=None, timeout=None, **env):
    """What Python prints when it runs a file, or code after -c; an error of it fails the test."""
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": SOURCE, **env},
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def until(reached, seconds=240):
    """Wait for something; what never comes fails the test."""
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def start_dris(*words, cwd=None, before="", start_new_session=False, **env):
    """Start a command; its output is read by pipes."""
    return subprocess.Popen(
        **how(before, words, cwd, env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=start_new_session,
    )
