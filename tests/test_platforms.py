"""The README and the commands where the system is not Linux: without what only Unix has."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from made_people import write_people

ROOT = Path(__file__).parents[1]
# What Windows lacks; filelock and asyncio, which have another way there, keep what they need here.
ABSENT = """
import asyncio, ctypes, filelock, os, shutil, signal, sys, tempfile, warnings
warnings.filterwarnings("ignore", category=EncodingWarning)
warnings.filterwarnings("error", category=EncodingWarning, module="dris")
for module in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[module] = None
for name in ("register_at_fork", "fork", "pread", "pwrite", "sysconf", "O_NOFOLLOW", "getuid",
             "geteuid", "sched_getaffinity", "O_DIRECTORY", "mkfifo",
             "killpg", "setsid", "getpgid", "wait3", "wait4", "statvfs"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGPIPE"):
    if hasattr(signal, name):
        delattr(signal, name)
class CDLL(ctypes.CDLL):
    def __init__(self, name, *more, **named):
        if name is None:
            raise TypeError("LoadLibrary() argument 1 must be str, not None")
        super().__init__(name, *more, **named)
ctypes.CDLL = CDLL
"""
# What it refuses: open files that go or get another name, folders opened as files, names.
REFUSED = """
shutil._use_fd_functions = False
RESERVED = {"con", "prn", "aux", "nul"} | {f"{a}{i}" for a in ("com", "lpt") for i in range(10)}
HOME = [os.path.realpath(folder) for folder in (os.getcwd(), tempfile.gettempdir())]
def held():
    for number in os.listdir("/proc/self/fd"):
        try:
            yield os.readlink("/proc/self/fd/" + number)
        except OSError:
            pass
    with open("/proc/self/maps") as file:
        for line in file:
            yield line.rstrip().partition("/")[2] and "/" + line.rstrip().partition("/")[2]
def check_name(path):
    for home in HOME:
        if path.startswith(home + os.sep):
            inside = path[len(home) + 1:]
            break
    else:
        return
    for name in inside.split(os.sep):
        odd = name[-1:] in (".", " ") or set(name) & set('<>:"|?*')
        if odd or name.split(".")[0].lower() in RESERVED:
            raise OSError(22, "Invalid argument", path)
    if path.startswith(HOME[0]) and len(path) - len(HOME[0]) > 150:
        raise FileNotFoundError(2, "longer than 260 characters below a usual folder", path)
def check_closed(path):
    if not path.startswith(tuple(home + os.sep for home in HOME)):
        return
    for one in held():
        if one == path or one.startswith(path + os.sep):
            raise PermissionError(13, "The process cannot access the file: it is open", path)
def whole(path, folder=-1):
    return os.path.abspath(os.fsdecode(path)) if isinstance(path, (str, bytes, os.PathLike)) else ""
def look(event, given):
    if event == "open":
        path = whole(given[0])
        if not path or path.startswith(("/proc", "/dev", "/sys")):
            return
        if isinstance(given[2], int) and given[2] & os.O_CREAT:
            check_name(path)
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied", path)
    elif event == "os.mkdir":
        check_name(whole(given[0]))
    elif event == "os.rename":
        check_closed(whole(given[0])), check_closed(whole(given[1])), check_name(whole(given[1]))
    elif event in ("os.remove", "os.rmdir"):
        check_closed(whole(given[0]))
sys.addaudithook(look)
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Run Python as another system would, in this process's children and in theirs."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "sitecustomize.py").write_text(ABSENT + REFUSED, encoding="utf-8")

    def run(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "src")]),
            "PYTHONIOENCODING": "cp1252",  # a pipe on Windows
            "PYTHONWARNDEFAULTENCODING": "1",  # a file opened without an encoding is an error
            "PYTHONUTF8": "0",
            "LC_ALL": "C",
            "LOKY_MAX_CPU_COUNT": "2",
        }
        words = (sys.executable, *words)
        return subprocess.run(
            words, cwd=cwd, env=env, capture_output=True, text=True, encoding="cp1252", timeout=120
        )

    return run


def python_of(path: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)


# The first takes a quarter of a minute; by default the command `clean` below stands for it.
@pytest.mark.parametrize("number", [pytest.param(0, marks=pytest.mark.slow), 1])
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
        ["clean", "people.csv", "--label", "income", "--id", "person", "--skip-harm-check"],
        pytest.param(
            ["prune", "people.csv", "--label", "income", "--id", "person", "--keep", "0.5"],
            marks=pytest.mark.slow,
        ),
        ["audit", "draw", "people.csv", "--label", "income", "--id", "person"],
        ["runs", "--store", "runs"],
    ],
    ids=["help", "certify", "rules", "clean", "prune", "audit", "runs"],
)
def test_the_commands_run_without_what_only_unix_has(command, elsewhere, tmp_path):
    write_people(tmp_path / "people.csv", n=300)
    done = elsewhere("-c", "from dris.cli import main; main()", *command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_what_was_written_is_replaced_reused_and_removed_where_open_files_are_not(
    elsewhere, tmp_path
):
    write_people(tmp_path / "people.csv", n=300)
    told = ["people.csv", "--label", "income", "--epochs", "2", "--skip-harm-check"]
    command = ("-c", "from dris.cli import main; main()")
    for words in (
        ["clean", *told],
        ["clean", *told, "--force"],
        ["weights", *told[:-1], "--store", "runs", "--out", "drawn"],
        ["runs", "--store", "runs", "--clean", "--unfinished"],
    ):
        done = elsewhere(*command, *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        for mark in tmp_path.glob("runs/*/done.json"):
            mark.unlink()  # as if it had been cut short
    assert "removed 7" in done.stdout  # a run for each kind of proxy, and of trees for each fold
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.is_dir()] == []
    left = {path.name for path in tmp_path.rglob(".*")}
    assert left <= {".dris-written.json", ".dris-runs.json"}, left
    lines = (tmp_path / "dris-out" / "cleaned.csv").read_bytes().splitlines(keepends=True)
    assert set(lines) <= set((tmp_path / "people.csv").read_bytes().splitlines(keepends=True))


@pytest.mark.slow
def test_a_damaged_run_is_set_aside_where_open_files_get_no_other_name(elsewhere, tmp_path):
    code = (
        "import logging, numpy as np, dris\n"
        "from pathlib import Path\n"
        "x = np.random.default_rng(0).normal(size=(60, 3))\n"
        "def train():\n"
        "    return dris.train_proxies(x, (x[:, 0] > 0).astype(int), proxies=2, epochs=2,\n"
        "        model='sgd_log', store='runs')\n"
        "first = train()\n"
        "for path in sorted(Path('runs').glob('*/*')):\n"
        "    if path.name not in ('lock', 'key.json', 'done.json'):\n"
        "        path.write_bytes(path.read_bytes()[:-9])\n"
        "again = train()\n"
        "print(np.array_equal(first.column('loss'), again.column('loss')))\n"
        "print(len(list(Path('runs').glob('*/*.damaged'))))\n"
    )
    (tmp_path / "damaged.py").write_text(code, encoding="utf-8")
    done = elsewhere("damaged.py", cwd=tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, ["True", "2"]), done.stderr


def test_the_names_are_absent_where_these_tests_run(elsewhere, tmp_path):
    """The twin: code that needs one of them fails there."""
    for code in ("import fcntl", "import os; os.register_at_fork", "import os; os.sysconf"):
        assert elsewhere("-c", code, cwd=tmp_path).returncode == 1
    assert elsewhere("-c", "import ctypes; ctypes.CDLL(None)", cwd=tmp_path).returncode == 1


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import os; open('a', 'wb'); h = open('b', 'wb'); os.replace('a', 'b')", "it is open"),
        ("import os; h = open('a', 'wb'); os.remove('a')", "it is open"),
        ("import os; os.mkdir('d'); h = open('d/a', 'wb'); os.rename('d', 'e')", "it is open"),
        ("import os; os.open('.', os.O_RDONLY)", "Permission denied"),
        ("open('12:30.csv', 'wb')", "Invalid argument"),
        ("open('aux.csv', 'wb')", "Invalid argument"),
        ("open('a' * 200, 'wb')", "260"),
    ],
)
def test_what_windows_refuses_is_refused_where_these_tests_run(code, error, elsewhere, tmp_path):
    assert error in elsewhere("-c", code, cwd=tmp_path).stderr


def test_a_file_of_ours_opened_without_an_encoding_is_an_error_there(elsewhere, tmp_path):
    code = "exec(compile(\"open('a', 'w')\", 'x', 'exec'), {'__name__': 'dris.core.x'})"
    assert "EncodingWarning" in elsewhere("-c", code, cwd=tmp_path).stderr
