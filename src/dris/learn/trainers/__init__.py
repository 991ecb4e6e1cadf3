"""What can train a proxy, in reading order.

`trainer` (what each of them must offer), `stacked` (many small heads in the same matrix products:
the default for tables), `estimators` (scikit-learn's classifiers), `networks` (torch), `registry`
(all of them by name).
"""
