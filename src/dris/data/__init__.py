"""Readers and writers.

In reading order: `labelled` (the nouns, and how data is read), `reader` (the one door, for files
and for what is in memory), `formats` (the registry of what is read and written), `tables`, `text`
and `images` (the rooms behind them), `findings` (what is seen before anything trains), `files`,
`writer` (what dris wrote it may replace), `outputs` (what people take away), `display` (what a
person is shown), `foreign_records` (training dynamics from files) and `transition_matrix` (which
class is labelled as which).
"""
