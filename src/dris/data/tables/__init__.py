"""Tables of examples, whatever they come in.

In reading order: `labelled_table` (rows into labelled data), `csvfile`,
`jsonlines`, `excel`, `memory_rows`, `label_columns`, `numbers` (columns into numbers),
`reworded` (texts without words that say the label),
`numpy_files`, `saved_dataset` (Hugging Face), `copies` (a file written anew), `shards` (losses of
more examples than fit).
"""
