"""One float64 per example, larger is kept first, for every score without exception.

In reading order: `ranks` (loss ranks and their variance, the paper's score), `formulas` (every
score by name), `prototypes` (k-means for one of them), `suspicion` (how much a label looks
wrong, and the label that proxies would give).
"""
