"""Judges the tables as sets, every hour: silver against gold, the ledger against itself, volume, news.

- **Purpose.** What no constraint on a row can say. Each expectation, what it catches and what to do about it:
  docs/expectations.md. The task's *Page* (*Details*, *Extra Links*) has the numbers; `ops.quality` keeps them.
- **Owner.** tracking.
- **Idempotent.** It reads the versions of one batch, and adds its results under the time of the check.
- **On failure.** Code 17: a critical expectation is not met, and its sentence says what to do. Warnings are in the log
  and on the page; they fail nothing. Code 11: no consistent batch yet.
"""

from airflow.sdk import DAG, CronTriggerTimetable, Param

from dags.fleet import FLEET, GOLD_TABLES, assets
from dags.pts_operator import PtsOperator
from pipelines.commands import Check
from pipelines.tables import EXPECTED

NAMES = [table.name for table in EXPECTED]

with DAG(
    dag_id="check_quality",
    description="Great Expectations on silver, gold and ops, at one batch.",
    doc_md=__doc__,
    schedule=CronTriggerTimetable("30 * * * *", timezone="UTC"),
    params={
        "tables": Param(
            [], type="array", items={"type": "string", "enum": NAMES}, examples=NAMES,
            description="Only these; none: all of them.",
        ),
        "at_batch": Param(
            None, type=["null", "integer"], minimum=0, description="As of this batch; the newest complete one without."
        ),
    },
    tags=["quality"],
    **FLEET,
) as dag:  # fmt: skip
    PtsOperator(
        task_id="check_quality",
        doc_md="`pts check`.",
        command=Check,
        parameters={"tables": "{{ params.tables }}", "at_batch": "{{ params.at_batch }}"},
        inlets=assets(*GOLD_TABLES),
    )
