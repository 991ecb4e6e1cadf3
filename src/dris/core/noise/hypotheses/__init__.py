"""How wrong labels may have come about; each family is fitted to the same evidence.

In reading order: `calibration` (clean class probabilities from the models' views), `hypothesis`
(what a noise model is), `uniform` (any row, any class; and none at all), `lookalike` (to the class
it looks like), `unclear` (where the class is least clear), `by_class` (a matrix), `neighbours` (to
the next class of an order). To add one: a file here and an entry in `posterior.FAMILIES`.
"""
