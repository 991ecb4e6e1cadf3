"""Rank variance of more examples than fit into memory: what `dris rank` does.

In reading order: `rank_shards` (the door, and the highest scores), `passes` (tasks over shards,
histograms), `disk_sort` (exact ranks).
"""
