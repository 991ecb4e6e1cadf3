"""`dris` in a process of its own, as a user meets it."""

import os
import subprocess
import sys
from pathlib import Path

import dris

MAIN = "from dris.cli import main; main()"
SOURCE = str(Path(dris.__file__).parents[1])


def how(before, words, cwd, env):
    """What `subprocess` takes: code to run before, the words, the folder, the variables."""
    command = [sys.executable, "-c", before + MAIN, *map(str, words)]
    variables = {**os.environ, "PYTHONPATH": SOURCE, **env}
    return {"args": command, "cwd": cwd, "env": variables, "text": True, "encoding": "utf-8"}


def run_dris(*words, cwd=None, before="", **env):
    """Run a command to its end."""
    return subprocess.run(**how(before, words, cwd, env), capture_output=True, check=False)


def start_dris(*words, cwd=None, before="", start_new_session=False, **env):
    """Start a command; its output is read by pipes."""
    return subprocess.Popen(
        **how(before, words, cwd, env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=start_new_session,
    )
