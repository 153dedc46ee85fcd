"""The only code that knows options and paths: Kafka, Delta, the ledger, the streaming checkpoint."""
