"""The page about a decision: one self-contained HTML file.

In reading order: `page` (`dris.report`: the file, and every panel of it by name), `content` (what
a page shows of a decision: pictures and rows too), `payload` (what its script reads, and its
charts), `outputs` (all that a decision writes into a folder).
"""
