"""What several tests need: the command line, in this process."""

import sys

import pytest

from dris.cli import main


@pytest.fixture
def dris(monkeypatch, capsys):
    """Run a command; its exit code, stdout and stderr."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["dris", *map(str, words)])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return run
