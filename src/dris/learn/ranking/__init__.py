"""Rank variance of more examples than fit into memory: what `dris rank` does.

In reading order: `rank_shards` (the door), `passes` (tasks over shards, histograms), `disk_sort`
(exact ranks), `top_scores` (the highest scores).
"""
