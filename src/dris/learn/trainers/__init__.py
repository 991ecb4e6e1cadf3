"""What can train a proxy.

In reading order: `job` (what is to be trained, and on what), `standardize` (tables),
`folds` (who trains on what), `schedules` (what an epoch is), `trainer` (what each kind offers),
`stacked` (many small heads in the same matrix products: the default for tables), `estimator`
(scikit-learn's classifiers), `networks` (torch), `registry` (all of them by name).
"""
