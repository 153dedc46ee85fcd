"""Recomputes the windows and alerts of a day, where they are not what silver says.

- **Purpose.** The live job keeps all windows right, late scans included. This is the nightly proof of it, and mends
  what a mistake of the past left. Any past range: *Backfill* on this page, or `pts airflow backfill create
  --dag-id backfill_windows --from-date 2026-01-01 --to-date 2026-01-31 --max-active-runs 1` (one day after the other;
  `--run-backwards` for the newest first, `--reprocess-behavior completed` for days that have a run already).
- **Owner.** tracking.
- **Idempotent.** What is right is not written again; each table gets one commit. The live job goes on, and waits only
  while a day with wrong rows is rebuilt. A day can be run at any time, in any order, and again after any cut.
- **On failure.** The task's last line says what to do. Code 9: another command has the lake, the retry waits for it.
  Code 11: no consistent batch yet. Code 7: see "The lake does not fit" in docs/runbook.md.
"""

from airflow.sdk import DAG, CronDataIntervalTimetable, Param

from dags.fleet import FLEET, assets
from dags.pts_operator import PtsOperator
from pipelines.commands import Backfill
from pipelines.tables import SILVER_SHIP_EVENTS, WINDOW_TABLES

NAMES = [table.name for table in WINDOW_TABLES]

with DAG(
    dag_id="backfill_windows",
    description="Windows and alerts of each day, rebuilt where they are wrong.",
    doc_md=__doc__,
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    params={
        "tables": Param(
            [],
            type="array",
            items={"type": "string", "enum": NAMES},
            examples=NAMES,
            description="Only these tables, and those made from them; none: all with windows.",
        ),
        "dry_run": Param(False, type="boolean", description="Only tell what would change."),
    },
    tags=["history", "windows"],
    **FLEET,
) as dag:
    PtsOperator(
        task_id="backfill_windows",
        doc_md="`pts backfill` over the run's data interval.",
        command=Backfill,
        parameters={
            "begin": "{{ data_interval_start }}",
            "end": "{{ data_interval_end }}",
            "tables": "{{ params.tables }}",
            "dry_run": "{{ params.dry_run }}",
        },
        inlets=assets(SILVER_SHIP_EVENTS),
        outlets=assets(*WINDOW_TABLES),
    )
