"""What each proxy thought of each example, epoch by epoch: where training and deciding meet.

In reading order: `dynamics` (the noun `Dynamics`, also of proxies trained apart), `columns` (what
is recorded, and class probabilities out of fold), `dynamics_file` (on disk).
"""
