"""What several tests need: the command of the experiments, in this process."""

import pytest

from experiments.__main__ import main


@pytest.fixture
def experiments(capsys):
    """Run a command; its exit code, stdout and stderr."""

    def run(*words):
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run
