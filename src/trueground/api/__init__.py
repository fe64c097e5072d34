"""What users call: compute, then render.

Packages that compute (`evaluate`, `shards`, `builders`) return objects and know no presentation.
The functions here have the names and parameters of `tg`, and add what people look at: the page of a
run, the report of a build, and results that a notebook can show.
"""
