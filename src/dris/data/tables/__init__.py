"""Tables of examples, whatever they come in.

In reading order: `rows` (what every format opens as), `csvfile`, `parquet`, `jsonlines`, `excel`,
`saved_dataset` (Hugging Face), `label_columns` (labels, ids, trust), `groups` (rows that stay in
one fold), `annotators`, `encoding` (columns into numbers), `words` (what a column of words is),
`written` (numbers and dates as people write them), `numpy_files` and `shards` (of losses).
"""
