"""Where work runs.

In reading order: `engine` (local or Ray), `tasks` (run them), `processes` (of this machine),
`ray_tasks` (on a cluster), `bars` (how far it is).
"""
