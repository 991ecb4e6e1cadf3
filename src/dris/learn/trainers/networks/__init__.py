"""Networks as proxies and targets (torch).

In reading order: `models` (by name), `sources` (where batches come from), `schedules` (what an
epoch is), `loop` (the one training loop), `network_trainer` (networks as a kind of trainer),
`encoders` (pretrained ones), `foreign_encoders` (those of other packages), `features` (a frozen
backbone), `samplers` (importance draws).
"""
