"""How many wrong labels are left, and under which condition.

In reading order: `separation` (Theorem 1), `limits` (by canaries, in the data and in a subset),
`random_audit` (a person checks a sample).
"""
