"""Text as numbers: `ngrams` (counts of words and characters), `sentences` (embeddings)."""
