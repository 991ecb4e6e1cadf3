"""Whatever trains: proxies, the attacker, targets.

In reading order: `proxies` (train K, join what they think), `proxy_job` (one of them), `folds`
(who trains on what), `standardized` (tables), `stacked`, `networks` and `estimators` (what can be
trained), `record` (your own loop), `targets` and `online` with `plans` and `feeds`, `attack`,
`recipe`; `store` and `run` (where it is kept and runs), `sharded` (more than fits), `extras`.
"""
