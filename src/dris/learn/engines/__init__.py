"""Where work runs.

In reading order: `engine` (local or Ray), `processes` (of this machine), `ray_tasks` and `cluster`
(of many machines), `visible_folder` (who sees a disk), `bars` (how far it is).
"""
