"""What several tests need: the command of the experiments, in this process."""

import sys

import pytest

from dris.cli import guarded_main
from experiments.__main__ import app


@pytest.fixture
def experiments(monkeypatch, capsys):
    """Run a command; its exit code, stdout and stderr."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["experiments", *map(str, words)])
        try:
            guarded_main(app, "experiments")
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return code, *capsys.readouterr()

    return run
