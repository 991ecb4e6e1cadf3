"""How wrong labels may have come about; each family is fitted to the same evidence.

In reading order: `calibration` (clean class probabilities), `hypothesis` (what a noise model is),
`uniform`, `lookalike`, `unclear`, `by_class` (a matrix), `neighbours` (to the next class of an
order). To add one: a file here and an entry in `posterior.FAMILIES`.
"""
