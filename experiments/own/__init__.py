"""Experiments that are not the paper's, by the same runner, in reading order.

`demo` (`dris demo`, on digits), `trial` and `trial_page` (`dris trial`, on a person's own data),
`beyond` (gated rules beside the others), `verdict` (whether the limits of `dris judge` hold),
`proved` (the paper's theorems on trained ensembles), `quotations` (what became of its sentences
about Δ' > 0), `later` (what the paper leaves for later), `augmentation` (targets with and without
it, and what they learn by heart), `known_noise` (a corrupted copy of a person's data, for `dris
corrupt`).
"""
