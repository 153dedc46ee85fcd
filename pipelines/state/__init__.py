"""What is true of a lake beside its tables: the ledger, snapshots, replay records, the writer lease."""
