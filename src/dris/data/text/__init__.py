"""Text as numbers.

In reading order: `ngrams` (what is counted, and counts as a few hundred numbers),
`sentences` (embeddings, with the extra `text`).
"""
