"""Experiments on known noise, from cells to pages, in reading order.

`spec` (a `Cell`, which is all that determines a result), `scales` and `beds` (how large everything
is), `cell_data` (its examples), `kinds` (what a cell can measure), `runner` (each cell once, killed
work goes on), `records` (what was found, as rows), `results` (tables, figures, claims and pages
from rows), `experiment` (all of them by name), `paper` and `own` (one file each), `costs` (before
running).
Models of its own: `small_mlp`, `networks`, `backbones` and `torchvision_backbones`.
"""
