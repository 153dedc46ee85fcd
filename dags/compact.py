"""Keeps tables small in files: joins small ones, writes checkpoints, removes what nobody needs any more.

- **Purpose.** The live job writes many small files, for fresh rows. Readers open each of them. What a reader, a replay
  or its rollback still needs stays: `PTS_COMPACT__RETENTION_HOURS`.
- **Owner.** tracking.
- **Idempotent.** A table that is in order is left. The live job goes on; it waits only, and shortly, for a table whose
  rows it merges. If it does not hand over the lake, that table waits for the next run.
- **On failure.** Clear the task: it goes on where it stood. Code 7: a promotion was cut off, which comes first; its
  sentence says which. Code 9: another command takes files out of the tables; the retry waits for it.
"""

from airflow.sdk import DAG, CronTriggerTimetable, Param

from dags.fleet import FLEET
from dags.pts_operator import PtsOperator
from pipelines.commands import Compact

with DAG(
    dag_id="compact",
    description="Small files joined, and those removed that nobody needs.",
    doc_md=__doc__,
    schedule=CronTriggerTimetable("0 4 * * *", timezone="UTC"),
    params={"dry_run": Param(False, type="boolean", description="Only tell what would be done.")},
    tags=["upkeep"],
    **FLEET,
) as dag:
    PtsOperator(
        task_id="compact",
        doc_md="`pts compact`: files and bytes of each table, before and after.",
        command=Compact,
        parameters={"dry_run": "{{ params.dry_run }}"},
    )
