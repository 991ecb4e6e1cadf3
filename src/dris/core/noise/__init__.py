"""Wrong labels: made on purpose, and found.

In reading order: `flips` (every kind of noise, for experiments), `canaries` (known wrong labels
that show how many others get through), `assessment` (what the ensemble thinks of every label: who
is a suspect, and which label it would give), `noise_rate` (how many labels are wrong).
"""
