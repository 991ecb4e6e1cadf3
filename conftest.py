"""Which modules the doctests can visit: those that need torch only where torch is."""

from importlib.util import find_spec

_NEED_TORCH = ("models/*", "features.py", "heads.py", "loop.py", "sources.py", "stacked.py")
collect_ignore_glob = [] if find_spec("torch") else [f"src/dris/learn/{m}" for m in _NEED_TORCH]
