"""dris inside the frameworks that people already train with, each behind an extra of its own.

In reading order: `sklearn` (a classifier and a selector), `lightning` and `huggingface` (callbacks
that record), `passes` (what those two share), `watchers` (curves and decisions in
TensorBoard, MLflow, Weights & Biases).
"""
