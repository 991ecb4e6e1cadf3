"""What can train a proxy.

In reading order: `job` (what is to be trained, and on what), `standardize` (tables),
`folds` (who trains on what), `trainer` (what an epoch is, and what each kind of model offers),
`stacked` (many small heads in the same matrix products: the default for tables), `estimator`
(scikit-learn's classifiers), `networks` (torch), `registry` (all of them by name).
"""
