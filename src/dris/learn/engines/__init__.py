"""Where tasks run.

In reading order: `processes` (of this machine, and how far they are), `tasks` (an engine, local or
Ray, and tasks on it).
"""
