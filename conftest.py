"""Which modules the doctests can visit: those that need torch only where torch is."""

from importlib.util import find_spec

_LEARN = [f"src/dris/learn/{name}" for name in ("models/*", "loop.py", "sources.py")]
collect_ignore_glob = [] if find_spec("torch") else [*_LEARN, "tests/counted_training.py"]
