"""What kind of data this is, and which rule fits it.

In reading order: `diagnostics` (what a known mask lets us measure), `proxy_checks`,
`assumption_checks` and `noise_checks` (one function a check), `regimes` (what they add up to),
`judgement` (regime and rule).
"""
