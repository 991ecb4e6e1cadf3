"""The mathematics: NumPy in, NumPy out; no torch, no clock, no network.

In reading order: `dynamics` (what the proxies thought), `scores`, `noise` (wrong labels, made on
purpose and found), `select` (a subset, or draws), `certify` (how much may still be wrong), `checks`
(what kind of data this is), `large` (more examples than fit). Used by all: `subset`, `validate`,
`streams`, `chances`, `sanitize`, `files` and `errors`.
"""
