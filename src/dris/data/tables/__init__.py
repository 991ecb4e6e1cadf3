"""Tables of examples, whatever file they come in.

In reading order: `stream` (CSV and Parquet into one array), `csvfile`, `label_columns`,
`encoding` (columns into numbers), `numpy_files`, `saved_dataset` (Hugging Face), `copies` (a file
written anew), `shards` (losses of more examples than fit).
"""
