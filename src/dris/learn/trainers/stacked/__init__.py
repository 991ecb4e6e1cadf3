"""Many small models in the same matrix products.

In reading order: `stack` (what they read, and training), `stack_record` (what is
recorded), `head` (the models, their trainer, and models on rows of their own).
"""
