"""What a record was made with: all that its bytes depend on beside the cell itself."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import dris

UNRECORDED = "unrecorded"
PINS = ("torch", "numpy", "cpu", "device")
"""What two records must share for their bytes to be comparable."""
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch")


def made_with() -> dict[str, Any]:
    """Commit, versions, instruction set, device and threads that this process trains with.

    >>> made = made_with()
    >>> made["dris"] == dris.__version__, set(PINS) <= set(made)
    (True, True)
    """
    torch = sys.modules.get("torch")
    gpu = torch is not None and torch.cuda.is_initialized()
    return {
        "dris": dris.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        **{name: _version(name) for name in _LIBRARIES},
        "cpu": _instructions(),
        "device": torch.cuda.get_device_name() if torch is not None and gpu else "cpu",
        "threads": 1,  # the library trains by one, whatever the process has
    }


def differences(made: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What of a record's pins is not as here, in words.

    >>> differences({"torch": "2", "cpu": "AVX2"}, {"torch": "2", "cpu": "AVX512"})
    ['cpu AVX2']
    """
    told = ((name, made.get(name, UNRECORDED)) for name in PINS if name in here)
    return [f"{name} {value}" for name, value in told if value != here[name]]


@cache
def _commit() -> str:
    """The commit of the clone, with a mark when its code has changed since."""
    folder = Path(__file__).parent

    def git(*words: str) -> str:
        told = ["git", "-C", str(folder), *words]
        return subprocess.run(told, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = git("status", "--porcelain", "--", ".", "../src")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return UNRECORDED


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _instructions() -> str:
    """The instruction set that torch dispatches to, and oneDNN's where it is held back.

    Without torch: that which NumPy's BLAS was built for at run time.
    """
    torch = sys.modules.get("torch")
    if torch is not None:
        held = os.environ.get("ONEDNN_MAX_CPU_ISA", "")
        used = str(torch.backends.cpu.get_cpu_capability())
        return f"{used}, oneDNN {held}" if held else used
    from threadpoolctl import threadpool_info

    kinds = {str(one.get("architecture", "")) for one in threadpool_info()} - {""}
    return ", ".join(sorted(kinds)) or platform.machine()
