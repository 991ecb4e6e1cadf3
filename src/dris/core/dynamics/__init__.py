"""What each proxy thought of each example, epoch by epoch: training makes it, deciding reads it.

In reading order: `dynamics` (the noun `Dynamics`), `columns` (what is recorded), `trajectories`
(from logits to columns), `merge` (proxies trained apart), `best_epoch` (which to score),
`dynamics_file` and `array_file` (on disk), `frames` (as pandas or polars).
"""
