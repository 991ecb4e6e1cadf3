"""Scores of ours for others, and of others for us.

In reading order: `scorefile` (a file of scores), `foreign_records` (what other tools wrote),
`transition_matrix` (which class is taken for which, from a file).
"""
