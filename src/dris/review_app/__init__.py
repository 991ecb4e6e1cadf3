"""`dris.review`: a local app in which people correct labels; every answer is on the disk at once.

In reading order: `worklist` (the suspects, a blind random sample among them), `journal` (the
append-only file of answers), `state` (who answered what, and what follows from it), `cells` (one
given and one suggested label: check a sample, accept the rest), `neighbours` (similar examples and
copies), `cards` (what is shown of an example), `corrected` (the data with the answers in it),
`session` (all of it for one data set), `exchange` (Label Studio, Argilla, CSV), `app` (HTTP),
`serve` (address, port, browser), `review` (the one function). What the browser gets is in
`app_files` and among the report's own components.
"""
