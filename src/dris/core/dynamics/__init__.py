"""What each proxy thought of each example, epoch by epoch: where training and deciding meet.

In reading order: `dynamics` (the noun `Dynamics`), `columns` (what is recorded, from
logits too), `class_probabilities` (of models that did not train on the example), `merge` (proxies
trained apart, and which epoch to score), `dynamics_file` (on disk).
"""
