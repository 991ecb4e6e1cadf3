"""Wrong labels: made on purpose, and found.

In reading order: `flips` (every kind of noise, for experiments), `canaries` (known wrong labels),
`views` (what models say of rows they did not train on), `hypotheses` (how wrong labels come about),
`posterior` (P(wrong) of every label, the noise rate), `annotators` (several people's labels),
`assessment` (what the ensemble thinks of every label).
"""
