"""Which modules the doctests can visit: those that need torch only where torch is."""

from importlib.util import find_spec

_NEED_TORCH = (
    "models/*",
    "features.py",
    "heads.py",
    "loop.py",
    "online.py",
    "samplers.py",
    "schedules.py",
    "sources.py",
    "stacked.py",
)
_LEARN = [f"src/dris/learn/{name}" for name in _NEED_TORCH]
collect_ignore_glob = [] if find_spec("torch") else [*_LEARN, "tests/counted_training.py"]
