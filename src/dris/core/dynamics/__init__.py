"""What each proxy thought of each example, epoch by epoch: where training and deciding meet.

In reading order: `dynamics` (the noun `Dynamics`), `columns` (what is recorded, from
logits too), `merge` (proxies trained apart, and which epoch to score), `dynamics_file` (on disk).
"""
