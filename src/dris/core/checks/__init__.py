"""What kind of data this is, and which rule fits it.

In reading order: `assumption_checks` (one function a check, and its answer),
`judgement` (regime and rule), `neighbours` (near-copies and outliers).
"""
