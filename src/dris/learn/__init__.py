"""Whatever trains: proxies, the attacker, targets.

In reading order: `proxies` (train K, join what they think), `jobs` (what is to be trained, and what
can train it), `trainers` (stacked heads, networks, estimators), `record` (your own loop), `targets`
and `online` with `sampling` (what an epoch trains on), `attack`, `corrupted`, `recipe`; `store` and
`engines` (where it is kept and runs), `sharded` (more than fits), `extras`.
"""
