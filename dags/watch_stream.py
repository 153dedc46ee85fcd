"""Watches the live job: heartbeat, lag, freshness of each table, rejects, number of files.

- **Purpose.** A job that is silent, slow or fed with rubbish is known within minutes: a reading beyond its limit fails
  the task, and a failed task alerts (`PTS_ALERTS__TO`), once an hour for the same fault. Limits: `PTS_HEALTH__…`.
- **Owner.** tracking.
- **Idempotent.** It only reads.
- **On failure.** Code 16: its sentence names each reading beyond its limit, and what to do. Code 4: no broker answers.
  Code 11: the job has made no table yet.
"""

from datetime import timedelta

from airflow.sdk import DAG, CronTriggerTimetable

from dags.fleet import FLEET, GOLD_TABLES, assets
from dags.pts_operator import PtsOperator
from pipelines.commands import Health

with DAG(
    dag_id="watch_stream",
    description="The live job's readings against their limits.",
    doc_md=__doc__,
    schedule=CronTriggerTimetable("*/5 * * * *", timezone="UTC"),
    tags=["quality", "stream"],
    **FLEET,
) as dag:
    PtsOperator(
        task_id="watch_stream",
        doc_md="`pts health`.",
        command=Health,
        retries=2,  # soon: what is short passes, what is not is told within four minutes
        retry_delay=timedelta(minutes=1),
        retry_exponential_backoff=False,
        execution_timeout=timedelta(minutes=5),
        inlets=assets(*GOLD_TABLES),
    )
