"""What Airflow commands, and when: one DAG per file. Each task runs one `pts` command and reads its JSON line."""
