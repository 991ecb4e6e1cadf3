"""Run every benchmark, each in a process of its own: `make bench`, or name some of them.

Every line is a ratio of two things measured in the same run, since machines differ and are
shared; the aim stands beside it. Exit code 1 when an aim is missed.
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# robust, step_times, small_cnn_cifar10 and cifar10_ways have no aim to meet, photographs needs
# pictures, clean takes an hour and writes a page: they are run by hand.
BENCHMARKS = (
    "imports",
    "ranks",
    "selection",
    "drawing",
    "recorder",
    "proxies",
    "memory",
    "stacked",
    "whole_job",
    "reading",
    "targets",
    "growth",
    "scale",
    "sharded",
)


def main() -> int:
    """Run the named benchmarks, or all."""
    names = sys.argv[1:] or BENCHMARKS
    failed = []
    for name in names:
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False).returncode:
            failed.append(name)
    print(f"missed an aim: {', '.join(failed)}" if failed else "every aim met")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
