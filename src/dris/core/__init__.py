"""The mathematics: NumPy in, NumPy out; no torch, no clock, no network.

In reading order: `dynamics` (what the proxies thought), `scores` (one number per example), `noise`
(wrong labels, made on purpose and found), `select` (from scores to a subset or to draws), `certify`
(how much may still be wrong), `checks` (what kind of data this is), `large` (more examples than
fit). Beside them, used by all: `subset`, `validate` (ids and frozen values too), `streams`,
`chances` (exact ones), `sanitize`, `files` and `errors` (and the parameters they name).
"""
