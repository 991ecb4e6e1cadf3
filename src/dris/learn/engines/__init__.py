"""Where tasks run.

In reading order: `engine` (local or Ray), `processes` (of this machine, and how far they
are), `tasks` (run them, here or on a cluster).
"""
