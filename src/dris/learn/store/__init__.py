"""Work that survives a kill.

In reading order: `run_store` (a folder of runs), `runs` (one of them), `locks`, `scratch` (a folder
for work in progress).
"""
