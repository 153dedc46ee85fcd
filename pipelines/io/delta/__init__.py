"""Delta tables and their files, by Spark and by delta-rs."""
