"""Whatever trains: proxies, the attacker, targets.

In reading order: `proxies` (train K, join what they think), `work` (what is to be trained, and what
can train it), `stacked`, `networks` and `estimators` (the kinds of trainers), `record` (your own
loop), `targets` and `online` with `sampling` (what an epoch trains on), `attack`, `recipe`; `store`
and `run` (where it is kept and runs), `sharded` (more than fits), `extras`.
"""
