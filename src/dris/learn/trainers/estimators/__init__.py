"""scikit-learn's classifiers as proxies.

In reading order: `predictions` (logits of a fitted classifier, also of XGBoost, LightGBM and
CatBoost), `estimator` (a classifier in training, and the trainer).
"""
