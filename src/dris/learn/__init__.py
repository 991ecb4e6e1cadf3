"""Whatever trains: proxies, the attacker, targets.

In reading order: `proxies` (train K, join what they think) with `proxy_inputs` (what is passed to
it), `jobs` and `job_keys` (what is to be trained), `proxy_job` (one of them), `trainer` and
`trainers` (what can train), `folds` (who trains on what), `standardized` (tables), `stacked`,
`networks` and `estimators` (the kinds of trainers), `record` (your own loop), `targets` and
`online` with `plans` and `feeds`, `attack`, `recipe`; `store` and `run` (where it is kept and
runs), `sharded` (more than fits), `extras`.
"""
