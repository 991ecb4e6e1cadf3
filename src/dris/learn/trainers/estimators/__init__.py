"""scikit-learn's classifiers as proxies.

`estimator` has the logits of a fitted classifier, also of XGBoost, LightGBM and CatBoost, a
classifier in training, and the trainer.
"""
