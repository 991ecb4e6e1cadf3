"""What is seen in data before anything trains.

In reading order: `label_findings` (the labels alone), `leaks` (columns that hold the label, and
those that say nothing), `telltale` (words that say the label).
"""
