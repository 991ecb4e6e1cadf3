"""Networks as proxies and targets (torch).

In reading order: `models` (by name or function), `network_trainer`, `sources` (where
batches come from), `loop` (the one training loop), `encoders` (pretrained ones), `features` (a
frozen backbone), `samplers` (importance draws).
"""
