"""Readers and writers.

In reading order: `labelled` (the nouns), `reader` (the one door), `formats` (the registry),
`tables`, `text` and `images` (behind it), `findings` (what is seen before anything trains),
`files`, `writer` (what dris wrote it may replace), `outputs` (what people take away and are
shown), `foreign_records` (training dynamics) and `transition_matrix`.
"""
