"""What a cell can measure, in reading order.

`shared` (what cells that share their proxies need), `static_cell` (a target on what a rule keeps),
`memory_cell` (which wrong labels it memorised), `ensemble_cell` (the proxies themselves),
`verdict_cell` (what the checks say), `theorem_formulas` and `theorems_cell` (the theorems on
trained ensembles), `future_work_cell` (noise on inputs, balance, epochs), `online_cell` (weighted
draws), `pictures` (decoded once), `food_cell` (pretrained backbones), `proxytypes_cell` (growing
ensembles), `steps_cell` (how long a step takes), `hinge` and `synthetic_cell` (the study in R^20).
"""
