"""Which modules the doctests can visit: those that need torch only where torch is."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/dris/learn/models/*"]
