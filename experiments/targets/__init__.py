"""Targets: the model that is trained in the end, on a subset or on weighted draws.

In reading order: `schedules` (what an epoch trains on), `target_run` (one training, its log and
its place in a store), `plans` (how likely each example is drawn), `static` (a subset, Algorithm 1),
`online` (weighted draws, Algorithm 2), `gradients` (an attacker that reads every weight).
"""
