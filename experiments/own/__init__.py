"""Experiments that are not the paper's, by the same runner, in reading order.

`trial` and `trial_page` (`python -m experiments trial`, on a person's own data), `beyond` (gated
rules beside the others), `verdict` (whether limits hold), `theorems` (the paper's theorems on
trained ensembles), `epoch` (when to score), `future_work` (what the paper leaves for later),
`augmentation` (targets with and without it, and which wrong labels they memorise), `natural`
(errors that people made).
"""
