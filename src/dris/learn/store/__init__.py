"""Work that survives a kill.

In reading order: `run_store` (a folder of runs), `runs` (one of them), `locks` (one process at a
time, and scratch folders).
"""
