"""What people look at: one self-contained HTML page, and what commands print.

In reading order: `decision_page` (from a decision to a page), `build` and `page_data` (what is on
it), `shown`, `charts`, `packing` and `payload` (its parts), `inlined` (the components that
`dris review` is made of as well), `page` (the file, and every panel of it by name).
"""
