"""Spark's streaming checkpoint, and what Spark's failures mean."""
