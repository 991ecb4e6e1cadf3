"""Whatever trains: proxies and the attacker.

Sub-rooms, each importing only those before it: `record` (your own loop), `store` (kept runs),
`engines` (where work runs), `trainers` (what trains), `jobs` (one training, kept), `ranking` (more
than fits). On top of them `proxies` (train K and join their dynamics), `trees` (boosted trees
beside them, and folds inside folds), `attack` (noise that needs a model); below `recipe` and
`extras`.
"""
