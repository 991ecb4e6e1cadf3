"""Timing side by side, processes watched, and a line that says whether the aim is met."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_missed: list[str] = []


def side_by_side(*works: Callable[[], object], rounds: int = 3) -> list[float]:
    """Best time of each, taking turns, so that a busy moment hits all of them alike."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for i, work in enumerate(works):
            begin = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


def peak_mb() -> float:
    """The most memory this process has ever held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


@dataclass(frozen=True)
class Watched:
    """What a command and the processes below it took: wall-clock, processor time, peaks in MB.

    `together` is the most that all held at one time, shared pages counted once.
    """

    seconds: float
    cpu_seconds: float
    own_peak: float
    worker_peaks: tuple[float, ...]
    together: float


def watch(words: Sequence[str]) -> Watched:
    """Run a command to its end, looking at its processes ten times a second (Linux)."""
    begin = time.monotonic()
    child = subprocess.Popen(words)
    peaks: dict[int, float] = {}
    cpu: dict[int, float] = {}
    together = 0.0
    while child.poll() is None:
        running = [child.pid, *_below(child.pid)]
        for pid in running:
            peaks[pid] = max(peaks.get(pid, 0.0), _held(pid, "status", "VmHWM"))
            cpu[pid] = max(cpu.get(pid, 0.0), _cpu_of(pid))
        together = max(together, sum(_held(pid, "smaps_rollup", "Pss") for pid in running))
        time.sleep(0.1)
    seconds = time.monotonic() - begin
    if child.returncode:
        sys.exit(child.returncode)
    own = peaks.pop(child.pid)
    return Watched(seconds, sum(cpu.values()), own, tuple(sorted(peaks.values())), together)


def _below(pid: int) -> list[int]:
    """Every process below this one."""
    try:
        listed = [
            path.read_text(encoding="utf-8")
            for path in Path(f"/proc/{pid}/task").glob("*/children")
        ]
    except OSError:
        return []
    own = [int(child) for text in listed for child in text.split()]
    return own + [below for child in own for below in _below(child)]


def _held(pid: int, file: str, line: str) -> float:
    """A line of what Linux says about a process's memory, in MB; 0 when it is gone."""
    try:
        return in_mb(Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8"), line)
    except OSError:
        return 0.0


def in_mb(text: str, name: str) -> float:
    """The line of this name of a file in /proc that counts in kB."""
    found = (int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name}:"))
    return next(found, 0) * 1.024e-3


def _cpu_of(pid: int) -> float:
    """Seconds of processor time that a process has used; 0 when it is gone."""
    try:
        after_name = (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        )
    except OSError:
        return 0.0
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def report(what: str, value: float, unit: str, aim: float, *, at_least: bool) -> None:
    """Print one measured value beside its aim."""
    met = value >= aim if at_least else value <= aim
    if not met:
        _missed.append(what)
    sign = "≥" if at_least else "≤"
    print(f"{what}: {value:.3g}{unit} (aim {sign} {aim:g}{unit}) {'ok' if met else 'MISSED'}")


def finish() -> None:
    """Exit with 1 when an aim was missed."""
    sys.exit(bool(_missed))
