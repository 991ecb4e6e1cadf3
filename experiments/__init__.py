"""Experiments on known noise, run from a clone by `python -m experiments`; not in the wheel.

In reading order: `spec` (a `Cell`, all that determines a result), `rules` (by the names that cells
hold), `scales` and `setups` (how large everything is), `datasets` and `workspace` (its examples),
`networks` (the paper's), `targets` (what trains on a subset or on draws), `kinds` (what a cell can
measure), `runner` (each cell once; killed work goes on), `records` (results as rows), `results`
(tables, figures, claims and pages from rows), `paper` and `own` (an experiment a file), `registry`
(all of them by name), `costs` (before running), `reproduction` (what the command does), `studies`
(scripts on what the product decides). `dris_internals` and `dris_torch` hold all that is imported
from inside `dris`.
"""
