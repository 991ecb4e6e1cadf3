"""Tables of examples, whatever they come in.

In reading order: `rows` (what every format opens as), `csvfile`, `parquet`, `jsonlines`, `excel`,
`saved_dataset` (Hugging Face), `label_columns` (labels, ids, trust; rows into labelled
data), `groups` (rows that stay in one fold),
`annotators` (several people's labels), `encoding` (columns into numbers) with `words` (what a
column of words is) and `written` (numbers and dates as people write them), `numpy_files`, `shards`
(losses of more examples than fit).
"""
