"""Published data sets, checked by checksum.

In reading order: `catalogue` (a data set by name), `published` (where, which checksums),
`archives`, `download`, `official_formats`, `food101`, `mixture` (the synthetic study),
`class_names`.
"""
