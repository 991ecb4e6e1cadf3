"""Where work runs.

In reading order: `engine` (local or Ray), `processes` (of this machine), `ray_tasks`, `ray_jobs`
and `cluster` (of many), `bars` (how far it is).
"""
