"""The command line as a user meets it: real processes, real exit codes."""

import os
import subprocess
import sys

import numpy as np
import pytest

from commands import SOURCE
from commands import run_dris as dris
from dris import train_proxies
from made_people import write_people


def test_help_and_version_answer():
    assert "clean" in dris("--help").stdout
    assert dris("--version").stdout.startswith("dris 0.")


def test_python_runs_the_package_as_the_command(tmp_path):
    words = [sys.executable, "-m", "dris", "--version"]
    done = subprocess.run(
        words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCE}
    )
    assert done.stdout == dris("--version").stdout


@pytest.mark.parametrize(
    ("typed", "meant"), [("dris we", "weights"), ("dris prune --la", "--label")]
)
def test_a_shell_completes_commands_and_options(typed, meant):
    last = str(len(typed.split()) - 1)
    done = dris(_DRIS_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=last)
    assert done.stdout.split() == [meant]


def test_an_unwritable_folder_is_one_line_and_exit_code_1(tmp_path):
    (tmp_path / "taken").write_text("a file, not a folder", encoding="utf-8")
    write_people(tmp_path / "people.csv", n=100)
    done = dris("clean", "people.csv", "--label", "income", "--out", "taken", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "a file, not a folder"


def test_wrong_usage_is_exit_code_2():
    assert dris("clean", "a.csv", "--seed", "many").returncode == 2


def test_runs_lists_an_empty_store_and_refuses_a_file(tmp_path):
    done = dris("runs", "--store", str(tmp_path))
    assert done.returncode == 0
    assert "no runs in" in done.stdout
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused = dris("runs", "--store", str(tmp_path / "file"))
    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1


def test_runs_lists_and_cleans_what_training_kept(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 3))
    y = (x[:, 0] > 0).astype(int)
    train_proxies(x, y, proxies=2, epochs=2, model="sgd_log", workers=1, store=tmp_path)
    listed = dris("runs", "--store", str(tmp_path)).stdout
    assert listed.count("done") == 2
    assert "proxy 1" in listed
    half = next(tmp_path.glob("*/dynamics.safetensors"))
    half.write_bytes(half.read_bytes()[:50])
    cleaned = dris("runs", "--store", str(tmp_path), "--clean").stdout
    assert "removed 1" in cleaned
    assert cleaned.count("done") == 1
