"""Images with labels.

In reading order: `image_files` (folders and tables of paths), `pixels` (one decoder),
`image_list` (what is written of a folder).
"""
