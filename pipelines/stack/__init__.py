"""The embedded stack: broker, job, simulated feed and Airflow under one supervisor."""
