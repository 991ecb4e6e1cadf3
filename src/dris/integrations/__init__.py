"""dris inside the frameworks that people already train with, each behind an extra of its own.

In reading order: `sklearn` (a classifier and a selector), `passes` (what the callbacks share),
`lightning` and `huggingface` (callbacks that record, samplers and trainers that draw).
"""
