"""What is to be trained, and what can train it.

In reading order: `proxy_inputs` (what is passed), `jobs` and `job_keys` (what is to be trained),
`folds` (who trains on what), `standardized` (tables), `trainer` and `trainers` (what can train),
`proxy_job` (one proxy from its first epoch to its last).
"""
