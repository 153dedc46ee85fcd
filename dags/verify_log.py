"""Proves each night that the tables are what the log says, row for row.

- **Purpose.** All of the log goes through the code of today once more, into tables of its own, and is compared with the
  live ones at one position. Nothing live is touched; nothing is left when all rows are equal.
- **Owner.** tracking.
- **Idempotent.** It only reads what is live. Cut off, the retry goes on with the replay where it stood.
- **On failure.** Code 14: rows differ. The replay `verify-<batch>` is kept, with a page that shows counts and samples,
  until you drop it (`pts replay drop`) or a later one differs, too: see "Correcting history" in docs/runbook.md. Code 2
  with the as-of batch as a parameter: that replay was begun by other code; drop it and clear the task.
"""

from datetime import timedelta

from airflow.sdk import DAG, CronTriggerTimetable, Param

from dags.fleet import FLEET, GOLD_TABLES, assets
from dags.pts_operator import PtsOperator
from pipelines.commands import ReplayVerify

with DAG(
    dag_id="verify_log",
    description="The whole log through the code of today, compared with the tables.",
    doc_md=__doc__,
    schedule=CronTriggerTimetable("0 2 * * *", timezone="UTC"),
    params={
        "fence": Param(
            None, type=["null", "integer"], minimum=0, description="Up to this batch; the newest complete one without."
        ),
    },
    tags=["history", "proof"],
    **FLEET,
) as dag:
    PtsOperator(
        task_id="verify_log",
        doc_md="`pts replay verify`.",
        command=ReplayVerify,
        parameters={"at_batch": "{{ params.fence }}"},
        execution_timeout=timedelta(hours=12),
        inlets=assets(*GOLD_TABLES),
    )
