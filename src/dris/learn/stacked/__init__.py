"""Many small models in the same matrix products.

In reading order: `heads` (K heads on frozen features), `torch_stack` (their products in torch).
"""
