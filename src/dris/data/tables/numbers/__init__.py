"""Columns into numbers.

In reading order: `encoding` (the whole table) with `number_survey` and `word_columns` (what a
column is), `written_numbers`, `dates`, `categories`.
"""
