"""Studies of what the product decides, each a script: `python -m experiments.studies.robust`.

In reading order: `clean` with `clean_sets`, `encoders`, `clean_noise`, `clean_arms`, `natural`,
`clean_runs`, `clean_tables`, `clean_pictures` and `clean_page` (`python -m experiments clean`:
results/clean.md, results/natural.md),
`limit_coverage` (whether limits hold), `blind_tables` (tables picked blindly), `real_files` (files
as people have them), `categories` (columns of many values), `robust` (`RobustClassifier`),
`cifar10_ways` (three ways to the same subset) and `small_cnn_cifar10` (does the small CNN learn).
"""
