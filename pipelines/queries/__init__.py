"""What people ask the tables: SQL, a package's report and why it is so, snapshots, the quarantine."""
