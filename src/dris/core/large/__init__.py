"""More examples than fit into memory.

In reading order: `histograms` (counts that add, ranks looked up in them with their error), `mapped`
(arrays whose memory can be handed back, floats as whole numbers).
"""
