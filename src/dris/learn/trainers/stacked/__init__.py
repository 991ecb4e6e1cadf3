"""Many small models in the same matrix products.

In reading order: `head_models` (what is trained), `feature_table` (what it reads), `numpy_stack`
(training), `stack_values` (what is recorded of it), `stack_record` (and kept), `stacked_job` (all
of it, epoch by epoch), `stacked_trainer` (as a kind of trainer), `row_models` (each on rows of its
own), `one_head` (a target), `heads` (K heads on frozen features of several backbones),
`torch_stack` (the same on a GPU).
"""
