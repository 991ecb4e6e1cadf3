"""What kind of data this is, and which rule fits it.

In reading order: `diagnostics` (what a known mask lets us measure), `proxy_checks`,
`assumption_checks` and `noise_checks` (one function a check), `random_errors` (the share of labels
wrong at random that fits best), `wrong_share` (how many are wrong, as a range), `regimes` (what
they add up to), `judgement` (regime, rule and limits).
"""
