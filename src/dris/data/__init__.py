"""Readers and writers.

In reading order: `labelled` (the nouns), `options` (what a reader is told), `reader` (the one
door), `formats` (THE registry of what is read and written), `in_memory` (what is in memory),
`tables`, `text` and `images` (the rooms behind them), `findings` (what is looked at before anything
trains), `files`, `packed`, `remote`, `writer` (who wrote a file may replace it), `outputs` (what
people take away), `display` (what a person is shown), `interchange` (scores of ours for others, and
of others for us).
"""
