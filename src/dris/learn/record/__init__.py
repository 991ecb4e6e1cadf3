"""Dynamics from anybody's training loop.

In reading order: `recorder` (the class), `batches` (each checked once, and one epoch of them).
"""
