"""A Spark session for a command, Spark's streaming checkpoint, and what Spark's failures mean."""
