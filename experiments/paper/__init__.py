"""The paper's experiments, one file each, in its order.

`pruning` (table 1), `contamination` (2), `kablation` (figure 1), `online` (3), `food` (4),
`significance` (5), `keep` (6), `breakdown` (figure 2), `diversity` (7, figure 3), `proxytypes`
(figures 4 to 6), `hybrid` (8), `times` (9), `synthetic` (10), `smoothing` (appendix C).
"""
