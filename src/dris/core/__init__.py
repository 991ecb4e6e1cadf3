"""The mathematics: NumPy in, NumPy out; no torch, no clock, no network.

In reading order: `dynamics` (what the proxies thought), `scores` (one number per example), `select`
(from scores to a subset or to draws), `noise` (wrong labels on purpose), `certify` (how much may
still be wrong), `checks` (what kind of data this is), `large` (more examples than fit). Beside
them: `ids`, `subset`, `parameters`, `validate`, `streams`, `binomial`, `frozen`, `sanitize`,
`notebook`, `files`, `temporaries` and `errors`, which all of them use.
"""
