"""What all DAGs have in common."""

import re
import subprocess
from datetime import timedelta
from typing import Any

from airflow.sdk import Asset, BaseNotifier

from dags.pts_operator import pts
from pipelines.commands import Alert
from pipelines.tables import TABLES, Table

GOLD_TABLES = tuple(table for table in TABLES if table.layer == "gold")

ALERT_SECONDS = 60


def alert(context: Any) -> None:
    """Tells those on call that a task failed for good, by `pts alert`."""
    ti = context["ti"]
    text = f"{context.get('exception') or 'Its worker died.'} Run {ti.run_id}: {ti.log_url}"
    is_single = context["dag"].schedule is None  # no next run has the same fault
    _send(Alert(subject=f"{ti.dag_id} {ti.task_id} failed"[:200], text=text, always=is_single))


class Asked(BaseNotifier):
    """Tells those on call that a task waits for a person."""

    def notify(self, context: Any) -> None:
        ti = context["ti"]
        subject = f"{ti.dag_id} {ti.task_id} waits for a person"[:200]
        _send(Alert(subject=subject, text=f"Run {ti.run_id}: {ti.log_url}", always=True))


def _send(command: Alert) -> None:
    subprocess.run([*pts(), *command.argv()], check=True, timeout=ALERT_SECONDS)


def replay_name(run_id: str) -> str:
    """The name of the replay that a run makes: the same in each of its tasks and tries."""
    name = re.sub(r"[^0-9a-z]+", "-", run_id.lower()).strip("-")
    return (f"run-{name}" if name[:1].isdigit() else name)[:63].strip("-")  # Airflow would take a number for one


FLEET: dict[str, Any] = {
    "catchup": False,  # no start date either: any past can be backfilled, and by itself only the newest interval runs
    "max_active_runs": 1,
    "render_template_as_native_obj": True,
    "user_defined_filters": {"replay_name": replay_name, "grouped": "{:,}".format},
    "default_args": {
        "owner": "tracking",
        "on_failure_callback": alert,
        "retries": 3,
        "retry_delay": timedelta(minutes=5),
        "retry_exponential_backoff": True,
        "max_retry_delay": timedelta(minutes=30),
        "execution_timeout": timedelta(hours=2),
        "max_active_tis_per_dag": 1,  # a backfill has runs of its own, which all want the lake for themselves
    },
}
"""Arguments of every DAG. A retry is safe at any moment: see `PtsOperator`."""


def assets(*tables: Table) -> list[Asset]:
    """Tables as Airflow shows them: what a task makes, and what it reads."""
    return [Asset(name=table.name, uri=f"pts://lake/{table.folder}", group="lake") for table in tables]
