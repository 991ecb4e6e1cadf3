"""From scores to what is trained on: a subset, or probabilities with weights.

In reading order: `selection` (the highest scores, exactly ⌊αN⌋), `gate` (reject what looks wrong),
`rule_parameters` and `rules` (every method to make a subset, and the registry: score, method and
parameters by name), `importance` (probabilities, weights, draws).
"""
