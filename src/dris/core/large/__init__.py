"""More examples than fit into memory.

In reading order: `keys` (floats as whole numbers), `histograms` (counts that add), `rank_tables`
(ranks looked up, with their error), `mapped` (arrays whose memory can be handed back).
"""
