"""The README and the commands where the system is not Linux: without what only Unix has."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from made_people import write_people

ROOT = Path(__file__).parents[1]
# What Windows lacks; filelock, which has another way there, keeps what it needs here.
ABSENT = """
import ctypes, filelock, os, sys
for module in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[module] = None
for name in ("register_at_fork", "fork", "pread", "pwrite", "sysconf", "O_NOFOLLOW", "getuid",
             "sched_getaffinity", "O_DIRECTORY", "ftruncate"):
    if hasattr(os, name):
        delattr(os, name)
class CDLL(ctypes.CDLL):
    def __init__(self, name, *more, **named):
        if name is None:
            raise TypeError("LoadLibrary() argument 1 must be str, not None")
        super().__init__(name, *more, **named)
ctypes.CDLL = CDLL
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Run Python as another system would, in this process's children and in theirs."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "sitecustomize.py").write_text(ABSENT, encoding="utf-8")

    def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "src")]),
            "PYTHONIOENCODING": "cp1252",  # a pipe on Windows
            "LOKY_MAX_CPU_COUNT": "2",
        }
        words = (sys.executable, "-W", "error::EncodingWarning:dris", *words)
        return subprocess.run(
            words, cwd=cwd, env=env, capture_output=True, text=True, encoding="cp1252", timeout=120
        )

    return run


def python_of(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)


@pytest.mark.parametrize("number", range(len(python_of(ROOT / "README.md"))))
def test_the_readmes_examples_run_without_what_only_unix_has(number, elsewhere, tmp_path):
    (tmp_path / "example.py").write_text(python_of(ROOT / "README.md")[number], encoding="utf-8")
    done = elsewhere("example.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["--help"],
        ["certify"],
        ["rules"],
        ["clean", "people.csv", "--label", "income", "--id", "person", "--no-harm"],
        pytest.param(
            ["prune", "people.csv", "--label", "income", "--id", "person", "--keep", "0.5"],
            marks=pytest.mark.slow,
        ),
        ["runs", "--store", "runs"],
    ],
    ids=["help", "certify", "rules", "clean", "prune", "runs"],
)
def test_the_commands_run_without_what_only_unix_has(command, elsewhere, tmp_path):
    write_people(tmp_path / "people.csv", n=300)
    done = elsewhere("-c", "from dris.cli import main; main()", *command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_robust_classifier_fits_without_what_only_unix_has(elsewhere, tmp_path):
    code = (
        "import dris\n"
        "from sklearn.datasets import load_iris\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "x, y = load_iris(return_X_y=True)\n"
        "print(dris.RobustClassifier(LogisticRegression(max_iter=500)).fit(x, y).score(x, y) > 0.9)"
    )
    done = elsewhere("-c", code, cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr


@pytest.mark.slow
def test_a_store_is_shared_by_processes_that_are_spawned(elsewhere, tmp_path):
    """Two workers by spawn, as joblib starts them, and a lock between them."""
    code = (
        "import numpy as np, dris\n"
        "if __name__ == '__main__':\n"
        "    x = np.random.default_rng(0).normal(size=(60, 3))\n"
        "    made = dris.train_proxies(x, (x[:, 0] > 0).astype(int), proxies=2, epochs=2,\n"
        "        model='sgd_log', workers=2, store='runs')\n"
        "    print(made.proxies)\n"
    )
    (tmp_path / "spawned.py").write_text(code, encoding="utf-8")
    done = elsewhere("spawned.py", cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "2"), done.stderr
    assert len(list((tmp_path / "runs").glob("*/done.json"))) == 2


def test_the_names_are_absent_where_these_tests_run(elsewhere, tmp_path):
    """The twin: code that needs one of them fails there."""
    for code in ("import fcntl", "import os; os.register_at_fork", "import os; os.sysconf"):
        assert elsewhere("-c", code, cwd=tmp_path).returncode == 1
    assert elsewhere("-c", "import ctypes; ctypes.CDLL(None)", cwd=tmp_path).returncode == 1
