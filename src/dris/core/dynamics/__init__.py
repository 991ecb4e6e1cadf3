"""What each proxy thought of each example, epoch by epoch: where training and deciding meet.

In reading order: `dynamics` (the noun `Dynamics`), `columns` (what is recorded), `trajectories`
(from logits to columns), `merge` (proxies trained apart), `best_epoch` (which to score),
`dynamics_file` (on disk).
"""
