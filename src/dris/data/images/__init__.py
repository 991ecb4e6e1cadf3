"""Images with labels.

In reading order: `image_files` (folders and tables of paths, one decoder),
`gradient_features` (what to learn from where no network is at hand).
"""
