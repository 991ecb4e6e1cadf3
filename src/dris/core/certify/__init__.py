"""How many wrong labels are left, and under which condition.

In reading order: `separation` (Theorem 1) and `wording` (in words), `hypergeometric` (one exact
limit), `canary_overlap` (canaries that do not count), `data_limit` (wrong labels in the data),
`subset_limit` (in a subset), `protocol` (both, for what is used, δ split once), `random_audit` (a
person checks a sample).
"""
