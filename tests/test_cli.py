"""The command line as a user meets it: real processes, real exit codes."""

import subprocess
import sys

import pytest


def dris(*arguments: str, cwd=None) -> subprocess.CompletedProcess[str]:
    code = "from dris.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=cwd
    )


def test_help_and_version_answer():
    assert "demo" in dris("--help").stdout
    assert dris("--version").stdout.startswith("dris 0.")


def test_certify_says_at_the_papers_setting_that_three_proxies_certify_nothing():
    done = dris("certify")
    assert done.returncode == 0
    assert "certifies nothing" in done.stdout
    assert "1.56" in done.stdout
    assert "467" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["certify", "--epsilon", "0.5"], "epsilon"),
        (["certify", "--k", "1"], "k"),
        (["certify", "--keep", "1.5"], "keep"),
    ],
)
def test_a_broken_rule_is_one_line_and_exit_code_1(arguments, says):
    done = dris(*arguments)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unwritable_folder_is_one_line_and_exit_code_1(tmp_path):
    (tmp_path / "taken").write_text("a file, not a folder")
    done = dris("demo", "--out", "taken", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "taken").read_text() == "a file, not a folder"


def test_wrong_usage_is_exit_code_2():
    assert dris("demo", "--seeds", "many").returncode == 2
