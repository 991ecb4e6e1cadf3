"""Wrong labels on purpose.

In reading order: `flips` (every kind of noise, for experiments), `canaries` (known wrong labels
that show how many others get through).
"""
