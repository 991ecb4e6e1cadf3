"""The page about a decision: one self-contained HTML file.

In reading order: `page` (`dris.report`: the file, and every panel of it by name), `content` (what
a page shows of a decision), `details` (pictures and rows), `charts`, `payload` (what its script
reads), `inlined` (the components that `dris review` is made of as well), `outputs` (all that a
decision writes into a folder).
"""
