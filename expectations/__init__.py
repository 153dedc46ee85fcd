"""What must be true of the tables as sets, in Great Expectations: one module per table of which more is expected than a
row for each key. Only here it is imported.

What a constraint says of a row (NOT NULL, CHECK; see `pipelines/tables`) is not said again.
"""
