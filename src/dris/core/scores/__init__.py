"""One float64 per example, larger is kept first, for every score without exception.

In reading order: `ranks` (loss ranks and their variance, the paper's score), `formulas` (every
score by name).
"""
