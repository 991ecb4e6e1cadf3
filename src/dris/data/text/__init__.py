"""Text as numbers.

In reading order: `ngrams` (what is counted), `components` (counts to a few hundred numbers),
`sentences` (embeddings, with the extra `text`).
"""
