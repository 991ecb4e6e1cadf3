"""scikit-learn classifiers as proxies.

In reading order: `staged` (what an epoch means for each kind), `boosters` (XGBoost,
LightGBM, CatBoost), `predictions` (logits and features), `hinge` (many linear models at once),
`estimator_trainer` (all of them as a kind of trainer).
"""
