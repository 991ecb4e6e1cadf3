"""From scores to what is trained on: a subset, or probabilities with weights.

In reading order: `selection` (the highest scores, exactly ⌊αN⌋), `gate` (reject what looks wrong),
`methods` (every way to make a subset), `rule_parameters` and `rules` (score, method and parameters
by name: THE registry), `importance` (probabilities and weights), `draws`.
"""
