"""The live job: from the log's newest records to the tables, batch after batch."""
