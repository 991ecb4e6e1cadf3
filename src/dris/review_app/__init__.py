"""`dris.review`: a local app in which people correct labels; every answer is on the disk at once.

In reading order: `worklist` (the suspects, and a blind random sample among them), `journal` (the
append-only file of answers), `state` (who answered what, and what follows from it), `session` (what
is shown of an example, all of it for one data set, and the corrected data), `exchange` (Label
Studio, Argilla, CSV), `app` (HTTP), `review` (the one function, and the server). What the browser
gets is in `app_files` and among the report's own components.
"""
