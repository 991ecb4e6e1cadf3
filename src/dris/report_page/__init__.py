"""The page about a decision: one self-contained HTML file.

In reading order: `content` (what a page shows of a decision: pictures and rows too), `page`
(`dris.report`: the file, every panel of it by name, what its script reads, and its charts),
`outputs` (all that a decision writes into a folder).
"""
