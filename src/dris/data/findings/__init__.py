"""What is seen in data before anything trains.

In reading order: `label_findings` (the labels alone), `leaks` (columns that hold the label),
`telltale` (words that say it), `uninformative` (the columns of an array that say nothing),
`problems` (all that is wrong in one message).
"""
