"""Whether the tables are what the log says and the job is well, and word to those on call."""
