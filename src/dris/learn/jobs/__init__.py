"""One training from its first epoch to its last, kept so that a kill costs little.

In reading order: `kept_jobs` (how a job is found again in a store), `proxy_job` (one proxy),
`stacked_job` (all stacked proxies together), `all_jobs` (many on an engine, joined).
"""
