"""From scores to what is trained on: a subset, or probabilities with weights.

In reading order: `selection` (the highest scores, exactly ⌊αN⌋), `gate` (drop what looks wrong,
then choose), `rules` (every rule by name: THE registry), `importance` (probabilities and
weights), `draws` (with replacement), `systematic` (without).
"""
