"""How many wrong labels are left, and under which condition.

In reading order: `separation` (Theorem 1), `data_limit` (wrong labels in the data, canaries that
do not count aside), `subset_limit` (in a subset; δ split once), `random_audit` (a person checks a
sample).
"""
