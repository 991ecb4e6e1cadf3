"""What is seen in data before anything trains.

In reading order: `label_findings` (the labels alone), `leaks` (columns that hold the label),
`telltale` (words that say it), `telling` (the columns of an array that tell something), `problems`
(all that is wrong in one message).
"""
