"""`dris review`: a local app in which people correct labels; every tick is on the disk at once.

In reading order: `worklist` (what is put before a person, a blind random sample among it),
`journal` (the append-only file of ticks), `state` (what was said, by whom, and what follows from
it), `cells` (one given label, one suggested one: checked by a sample, accepted as a whole),
`neighbours` (similar examples and copies), `cards` (what there is to see of an example), `exchange`
(Label Studio, Argilla, CSV), `session` (all of it for one data set), `app` (its pages and answers
over HTTP), `serve` (the address, the port, the browser). What the browser gets is in `app_files`
and in the report's own components.
"""
