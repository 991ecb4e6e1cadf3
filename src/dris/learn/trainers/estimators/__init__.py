"""scikit-learn's classifiers as proxies.

In reading order: `predictions` (logits of a fitted classifier), `boosters` (XGBoost, LightGBM,
CatBoost), `estimator` (a classifier in training, and the trainer).
"""
