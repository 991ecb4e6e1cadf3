"""Many small models in the same matrix products.

In reading order: `feature_table` (what they read), `stack` (training), `stack_record` (what is
recorded), `head` (the models, and the trainer), `row_models` (each on rows of its own).
"""
