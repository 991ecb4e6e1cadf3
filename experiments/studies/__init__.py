"""Studies of what the product decides, each a script: `python -m experiments.studies.clean`.

In reading order: `clean` with `clean_sets`, `clean_noise`, `clean_cells`, `clean_tables`,
`clean_pictures` and `clean_page` (`dris clean` beside nothing and cleanlab, results/clean.md),
`ranges` with `range_sets` (how often the range of wrong labels holds the truth, results/ranges.md),
`limit_coverage` (whether limits hold), `blind_tables` (tables picked blindly), `real_files` (files
as people have them), `categories` (columns of many values), `robust` (`RobustClassifier`),
`cifar10_ways` (three ways to the same subset) and `small_cnn_cifar10` (does the small CNN learn).
"""
