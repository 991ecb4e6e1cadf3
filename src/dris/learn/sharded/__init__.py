"""Rank variance of more examples than fit into memory.

In reading order: `sharded_ranks` (the door), `sharded_passes`, `sharded_exact`, `sharded_top`.
"""
