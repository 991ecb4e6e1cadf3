"""scikit-learn classifiers as proxies.

In reading order: `staged` (what an epoch means for each kind), `predictions` (logits and
features), `hinge` (many linear models at once).
"""
