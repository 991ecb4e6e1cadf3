"""What a cell can measure, in reading order.

`groups` (what cells that share their proxies need), `static_cell` (a target on what a rule keeps),
`memory_cell` (what it learned by heart of it), `ensemble_cell` (the proxies themselves),
`verdict_cell` (what `dris judge` says), `proved_cell` (the theorems on trained ensembles),
`later_cell` (noise on inputs, balance, epochs), `online_cell` (weighted draws), `pictures`
(decoded once), `food_cell` (pretrained backbones), `proxytypes_cell` (growing ensembles),
`synthetic_cell` (the study in R^20).
"""
