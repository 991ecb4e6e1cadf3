"""Dynamics from anybody's training loop.

In reading order: `recorder` (the door), `batches` (each checked once),
`epoch_buffer` (one pass), `array_like` (whatever holds numbers).
"""
