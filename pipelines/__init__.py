"""SuperFastPTS: package scans on an immutable Kafka log, kept as true Delta tables by one Spark job."""
