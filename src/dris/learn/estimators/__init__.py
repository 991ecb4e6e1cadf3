"""scikit-learn classifiers as proxies.

In reading order: `staged` (what an epoch means for each kind), `predictions` (logits and
features), `standardized` (columns of deviation 1), `hinge` (many linear models at once).
"""
