"""Killed at any point, does the same command end in the same bytes and leave nothing behind?

`make kill` runs each command once to its end, then again and again with kill -9 at a random point:
just before a random change to a file (half of the kills), or after a random share of its processor
time; commands with several workers are killed themselves, or one of their workers is. Each time

    no process of it is left after five seconds
    the same command, without a flag more, ends with exit code 0
    in the same bytes, with not one file more or less, and nothing left in the temporary folder

Seconds that lie beside results (`timing.json`, `*.time.json`), when an answer of a review was given
and locks, which are empty files, are not compared.

    python tools/kill.py                       # 300 kills
    python tools/kill.py --kills 40 --seed 3
    python tools/kill.py --from 120            # the rest of a run that was stopped
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dris.data.writer import MANIFEST
from fuzz import be_the_command, warm

COLUMNS = "--label kind --id name"
FAST = f"{COLUMNS} --epochs 3 --proxies 2"
ONE, TWO = "--workers 1", "--workers 2"
ANSWERS = "o/answers.jsonl"  # in a folder that is there before
# Each is told where to write by its last word.
COMMANDS = {
    "scores": f"clean data.csv {FAST} --scores --no-report --skip-harm-check {ONE} --out o",
    "clean": f"clean data.csv {FAST} {ONE} --out o",
    "prune": f"prune data.csv {FAST} {ONE} --keep 0.5 --out o",
    "weights": f"weights data.csv {FAST} --skip-harm-check {ONE} --out o",
    "rank": f"rank losses {ONE} --keep 0.5 --out o",
    "rank exact": f"rank losses {ONE} --exact --out o",
    "audit draw": f"audit draw data.csv {COLUMNS} --n 5 --out o/a.csv",
    "corrupt": f"corrupt data.csv {COLUMNS} --out o/n.csv",
    "review": (
        f"review data.csv {FAST} {ONE} --sample 80 --reviewer ana --import review.csv "
        f"--answers {ANSWERS} --store o/runs --out o"
    ),
}
LINEAR = "--model sgd_log,sgd_hinge"  # which train in processes
SEVERAL = {
    "clean, 2 workers": f"clean data.csv {FAST} {LINEAR} --skip-harm-check {TWO} --out o",
    "rank, 2 workers": f"rank losses {TWO} --keep 0.5 --out o",
}
CHANGES = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}
WAIT = 5.0  # seconds until nothing of a killed command runs
LIMIT = 240.0  # of a command


@dataclass(frozen=True)
class Whole:
    """A command that ran to its end: its files, changes to files and seconds of processor time."""

    files: dict[str, bytes]
    changes: int
    seconds: float


def main() -> int:
    """Kill as often as asked; the exit code says whether every rerun kept the promises."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--from", type=int, default=0, dest="first")
    asked = parser.parse_args()
    begin = time.monotonic()
    count, cut, bad = run_many(asked.kills, asked.seed, first=asked.first, tell=True)
    print(
        f"{sum(count.values())} kills, seed {asked.seed}, {time.monotonic() - begin:.0f} s: "
        f"{cut} came before the end, {len(bad)} broke a promise; {dict(count)}"
    )
    return bool(bad)


def run_many(
    kills: int,
    seed: int,
    *,
    first: int = 0,
    commands: dict[str, str] | None = None,
    tell: bool = False,
) -> tuple[Counter[str], int, list[str]]:
    """So many kills in turn over the commands: how often each, how many in time, what broke."""
    count: Counter[str] = Counter()
    cut, bad = 0, []
    every = {**COMMANDS, **SEVERAL} if commands is None else commands
    with prepared() as home:
        whole = {name: ran_whole(words, home) for name, words in every.items()}
        for number in range(first, kills):
            name = list(every)[number % len(every)]
            draw = random.Random(f"{seed} {number}")
            early, wrong = one_kill(every[name], whole[name], home, draw, several=name in SEVERAL)
            count[name] += 1
            cut += early
            bad += [f"kill {number} of {name}: {text}" for text in wrong]
            if tell and wrong:
                print(f"kill {number} of {name}: {'; '.join(wrong)}", flush=True)
            if tell and (number + 1) % 25 == 0:
                print(f"{number + 1} kills, {cut} before the end, {len(bad)} broken", flush=True)
    return count, cut, bad


@contextmanager
def prepared() -> Iterator[Path]:
    """Inputs in a folder of their own, a temporary folder of their own, everything imported."""
    before = dict(os.environ), tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="kill-") as scratch:
        home = Path(scratch)
        try:
            (home / "inputs").mkdir()
            write_inputs(home / "inputs")
            _own_temporary(home)
            warm(home / "inputs", (*COMMANDS.values(), "rules"))
            _own_temporary(home)
            yield home
        finally:
            os.environ.clear()
            os.environ.update(before[0])
            tempfile.tempdir = before[1]


def _own_temporary(home: Path) -> None:
    shutil.rmtree(home / "tmp", ignore_errors=True)
    (home / "tmp").mkdir()
    names = ("TMPDIR", "JOBLIB_TEMP_FOLDER")
    os.environ.update(dict.fromkeys(names, str(home / "tmp")), XDG_CACHE_HOME=str(home / "cache"))
    tempfile.tempdir = str(home / "tmp")


def write_inputs(folder: Path) -> None:
    """A table, a review of it and shards of losses."""
    import numpy as np

    from made_shards import losses_of, write_shards

    rng = np.random.default_rng(0)
    rows = [f"r{i},{rng.normal() + 3 * (i % 2):.3f},{'dog' if i % 2 else 'cat'}" for i in range(80)]
    (folder / "data.csv").write_text(
        "\n".join(["name,height,kind", *rows]) + "\n", encoding="utf-8"
    )
    answers = [f"r{i},{'dog' if i % 2 else 'cat'},,right," for i in range(5)]
    head = "id,given,suggested,answer,corrected"
    (folder / "review.csv").write_text("\n".join([head, *answers]) + "\n", encoding="utf-8")
    write_shards(folder / "losses", losses_of(300), shards=2)


def ran_whole(words: str, home: Path) -> Whole:
    """The command without a kill."""
    folder = _fresh(home, words)
    changes = home / "changes"
    child = _started(words, folder, home, count_into=changes)
    seconds = 0.0
    while (code := _ended(child)) is None:
        seconds = max(seconds, _seconds(child))
        time.sleep(0.005)
    if code:
        said = (home / "said").read_text(errors="replace", encoding="utf-8")
        raise SystemExit(f"kill: {words} does not run: exit {code}\n{said}")
    return Whole(files_of(folder / "o"), changes.stat().st_size, seconds)


def one_kill(
    words: str, whole: Whole, home: Path, draw: random.Random, *, several: bool
) -> tuple[bool, list[str]]:
    """Kill, see that all of it is gone, run the same again; whether it was in time, what broke."""
    folder = _fresh(home, words)
    of_worker = several and draw.random() < 0.5
    if not several and draw.random() < 0.5:
        child = _started(words, folder, home, die_at=draw.randint(1, max(1, whole.changes)))
        code = _wait(child)
    else:
        child = _started(words, folder, home)
        code = _killed_after(child, draw.random() * whole.seconds, draw if of_worker else None)
    early = code == -signal.SIGKILL or (of_worker and code != 0)
    wrong = []
    if of_worker and code not in (0, 1):
        wrong.append(f"a killed worker ends it with {code}")
    deadline = time.monotonic() + WAIT
    while (left := _session_of(child)) and time.monotonic() < deadline:
        time.sleep(0.05)
    if left:
        wrong.append(f"still running: {left}")
    if code != 0:
        before = files_of(folder / "o")
        again = _wait(_started(words, folder, home))
        said = (home / "said").read_text(errors="replace", encoding="utf-8").strip().splitlines()
        # Killed after its last change, all is there: the same is refused as after any other end.
        over = before == whole.files and "--force" in "".join(said[-1:])
        if again != 0 and not over:
            wrong.append(f"the same again ends with {again}: {said[-1:] or ''}")
    after = files_of(folder / "o")
    wrong += [f"{n} is missing" for n in whole.files if n not in after]
    wrong += [f"{n} is left over" for n in after if n not in whole.files]
    wrong += [f"{n} differs" for n in whole.files if after.get(n, whole.files[n]) != whole.files[n]]
    wrong += [f"{path.name} is left in the temporary folder" for path in _left(home)]
    if wrong:
        _own_temporary(home)
    return early, wrong


def _left(home: Path) -> list[Path]:
    """What is in the temporary folder but locks and torch's cache.

    Trackers take a moment to empty it.
    """

    def foreign(path: Path) -> bool:
        return path.suffix == ".lock" or path.name.startswith("torchinductor_")

    deadline = time.monotonic() + WAIT
    while found := [p for p in sorted((home / "tmp").iterdir()) if not foreign(p)]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.05)
    return found


def _fresh(home: Path, words: str) -> Path:
    folder = home / "work"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home / "inputs", folder)
    if ANSWERS in words:
        (folder / ANSWERS).parent.mkdir()
    for path in (home / "inputs" / "losses").iterdir():  # dris rank knows shards by their time
        os.utime(folder / "losses" / path.name, ns=(path.stat().st_atime_ns, 10**18))
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file, but what is of the clock and locks."""
    return {
        str(path.relative_to(folder)): _without_clocks(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("timing.json", "lock")
        if not path.name.endswith(".time.json")
    }


def _without_clocks(path: Path) -> bytes:
    """The bytes; of the list of outputs all but the sums of files that hold seconds.

    Of answers to a review all but when they were given, and half lines, which are stepped over.
    """
    if path.name == Path(ANSWERS).name:
        return b"\n".join(_acts(path.read_bytes().splitlines()))
    if path.name != MANIFEST:
        return path.read_bytes()
    noted = json.loads(path.read_bytes())
    noted["files"] = {n: s for n, s in noted["files"].items() if not n.endswith(".time.json")}
    return json.dumps(noted).encode()


def _acts(lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        with suppress(ValueError):
            yield json.dumps({**json.loads(line), "time": ""}).encode()


def _started(
    words: str,
    folder: Path,
    home: Path,
    *,
    die_at: int | None = None,
    count_into: Path | None = None,
) -> int:
    """The command in a fork with a session of its own; it may kill itself before a change."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.setsid()
        if die_at is not None or count_into is not None:
            _look_for_changes(die_at, count_into)
        be_the_command(words.split(), folder, home / "said")
    return child


def _look_for_changes(die_at: int | None, count_into: Path | None) -> None:
    seen, busy = 0, False
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    target = None if count_into is None else os.open(count_into, flags)

    def look(event: str, given: tuple[object, ...]) -> None:
        nonlocal seen, busy
        flags = given[2] if event == "open" else 0
        opened = isinstance(flags, int) and flags & (os.O_CREAT | os.O_RDWR)
        if busy or not (event in CHANGES or opened):
            return
        busy, seen = True, seen + 1
        if seen == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if target is not None:
            os.write(target, b".")
        busy = False

    sys.addaudithook(look)


def _killed_after(child: int, seconds: float, of_worker: random.Random | None) -> int:
    """Kill the command, or one of its workers, once it has used so much of the processor."""
    deadline = time.monotonic() + LIMIT
    while (code := _ended(child)) is None and time.monotonic() < deadline:
        if of_worker is not None:
            workers = [pid for pid, line in _processes(child) if "LokyProcess" in line]
            if workers:
                time.sleep(of_worker.random() * 2)
                with suppress(ProcessLookupError):
                    os.kill(of_worker.choice(workers), signal.SIGKILL)
                return _wait(child)
        elif _seconds(child) >= seconds:
            os.kill(child, signal.SIGKILL)
            return _wait(child)
        time.sleep(0.002)
    return _wait(child) if code is None else code


def _wait(child: int) -> int:
    deadline = time.monotonic() + LIMIT
    while (code := _ended(child)) is None:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.005)
    return code


_OVER: dict[int, int] = {}


def _ended(child: int) -> int | None:
    if child not in _OVER:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _OVER[child] = os.waitstatus_to_exitcode(status)
    return _OVER.get(child)


def _seconds(pid: int) -> float:
    """Of the processor, so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _processes(session: int) -> list[tuple[int, str]]:
    """The living processes of a session but its leader, with their command lines."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == session:
            continue
        try:
            fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(
                    (
                        int(entry.name),
                        (entry / "cmdline").read_text(encoding="utf-8").replace("\0", " "),
                    )
                )
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _session_of(session: int) -> list[str]:
    return [f"{pid} {line[:80]}" for pid, line in _processes(session)]


if __name__ == "__main__":
    sys.exit(main())
