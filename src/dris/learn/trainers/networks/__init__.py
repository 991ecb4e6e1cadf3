"""Networks as proxies and targets (torch).

In reading order: `builders` (by name or function), `network_trainer`, `models`, `sources` (where
batches come from), `loop` (the one training loop), `encoders` (pretrained ones), `features` (a
frozen backbone), `samplers` (importance draws).
"""
