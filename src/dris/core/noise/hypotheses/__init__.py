"""How wrong labels may have come about; each family is fitted to the same evidence.

In reading order: `calibration` (clean class probabilities), `hypothesis` (what a noise model is),
`by_row` (any row, a lookalike, or where unclear), `by_class` (a matrix, or to the next class of an
order). To add one: a function here and an entry in `posterior.FAMILIES`.
"""
