"""Readers and writers.

In reading order: `labelled` (the nouns), `options` (how data is read), `reader` (the one door),
`formats` (the registry of what is read and written), `in_memory` (frames, arrays, data sets),
`tables`, `text` and `images` (the rooms behind them), `findings` (what is seen before anything
trains), `files`, `writer` (what dris wrote it may replace), `outputs` (what people take away),
`display` (what a person is shown), `foreign_records` (training dynamics from files) and
`transition_matrix` (which class is labelled as which).
"""
