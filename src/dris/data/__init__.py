"""Readers and writers.

In reading order: `labelled` (the nouns), `reader` (the one door), `formats` (THE registry of what
is read and written), `in_memory` (what is in memory), `tables`, `text`, `images` and `known` (the
rooms behind them), `label_findings` and `leaks` (labels looked at before anything trains),
`problems` (all that is wrong in one message), `files`, `packed`, `remote`, `outputs` (what people
take away), `looks` (what a person is shown), `scorefile`, `score_comparison`, `foreign_records`,
`transition_matrix`.
"""
