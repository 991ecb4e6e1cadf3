"""Networks as proxies and targets (torch).

In reading order: `network_trainer` (by name or function), `models`, `sources` (where batches come
from), `loop` (the one training loop), `encoders` (pretrained ones), `foreign_encoders` (those of
other packages), `features` (a frozen backbone), `samplers` (importance draws).
"""
