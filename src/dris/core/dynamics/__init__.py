"""What each proxy thought of each example, epoch by epoch: where training and deciding meet.

In reading order: `dynamics` (the noun `Dynamics`), `columns` (what is recorded),
`class_probabilities` (out of fold), `merge` (proxies trained apart), `dynamics_file` (on disk).
"""
