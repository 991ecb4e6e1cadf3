"""Timing side by side, and a line that says whether the aim is met."""

import resource
import sys
import time
from collections.abc import Callable

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
