"""What kind of data this is, and which rule fits it.

In reading order: `diagnostics` (one check's answer), `assumption_checks` (one function a check),
`judgement` (regime and rule), `neighbours` (near-copies and outliers).
"""
