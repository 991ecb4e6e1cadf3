"""Wrong labels on purpose.

In reading order: `flips` (every kind of noise, for experiments), `canaries` (known wrong labels
that show how many others get through), `noise_rate` (how many labels are wrong), `random_errors`
(whether they fall at random).
"""
