"""From records to what a reader sees, in reading order.

`statistics` (means, paired tests), `claims` (what the paper says, held against records), `table`,
`reading` (numbers out of records), `paper_values` (what the paper prints), `figures`, `curves` and
`panels` (the pictures), `causes` (why a claim was contradicted, from results/causes.md), `tally`
(claims counted, the index), `unfinished` (what was not run), `pages` (an experiment's page).
"""
