"""Wrong labels: made on purpose, and found.

In reading order: `flips` (every kind of noise, for experiments), `canaries` (known wrong labels
that show how many others get through), `views` (what models say of rows they did not train on),
`hypotheses` (how wrong labels may have come about), `noise_rate` (how many labels are wrong),
`posterior` (P(wrong) of every label, over all hypotheses), `annotators` (several people's labels of
the same examples), `assessment` (what the ensemble thinks
of every label: who is a suspect, and which label it would give).
"""
