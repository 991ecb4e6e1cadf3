"""More examples than fit into memory.

In reading order: `histograms` (counts that add), `rank_tables` (ranks looked up, with their error),
`mapped` (arrays whose memory can be handed back, floats as whole numbers).
"""
