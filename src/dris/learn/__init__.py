"""Whatever trains: proxies, the attacker, targets.

Sub-rooms, each importing only those before it: `record` (your own loop), `store` (kept runs),
`engines` (where work runs), `trainers` (what trains), `jobs` (one training, kept), `sampling` (what
a target's epoch draws), `ranking` (more than fits). On top of them `proxies` (train K and join
their dynamics), `targets` and `online`, `attack` (noise that needs a model); below `recipe` and
`extras`.
"""
