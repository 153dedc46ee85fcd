"""Airflow without a database: its modules need a folder of their own before they are imported."""

import os
import tempfile

os.environ["AIRFLOW_HOME"] = tempfile.mkdtemp(prefix="pts-airflow-")
