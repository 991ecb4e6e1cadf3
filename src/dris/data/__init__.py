"""Readers and writers.

In reading order: `labelled` (the noun), `reader` (the one door), `tables`, `images` and `known`
(the rooms behind it), `files`, `outputs` (what people take away), `looks` (what a person is
shown), `scorefile`, `score_comparison`, `foreign_records`, `transition_matrix`.
"""
