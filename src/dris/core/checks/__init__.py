"""What kind of data this is, and which rule fits it.

In reading order: `diagnostics` (what a known mask lets us measure), `assumption_checks` (one
function a check), `judgement` (what they add up to: regime and rule), `neighbours` (rows that
nearly copy each other, and rows far from all others).
"""
