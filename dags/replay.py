"""Corrects history: the log through the code of today, compared with the live tables, approved by a person, promoted.

- **Purpose.** After a transform was corrected. Without more it is a dry run, which only plans. Else tables are built
  beside the live ones and compared; rows that differ and were not declared end the run. Somebody looks at what differs
  and approves or rejects it under *Required Actions*. If `pts verify` or `pts check` then finds that the tables do not
  hold, they are rolled back.
- **Owner.** tracking.
- **Idempotent.** Each task goes on where it was cut off. The replay is named after the run.
- **On failure.** `compare`, code 14: look at its *Page* (*Details*, *Extra Links*); declare what is right in `expect`.
  `check`: see its *Page*. After code 13 or 17 `roll_back` has undone the promotion; after any other of `verify` or
  `check` it stands, and you decide. A replay that nobody needs: `pts replay drop`.
"""

from datetime import timedelta

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param

from dags.fleet import FLEET, GOLD_TABLES, Asked, assets
from dags.pts_operator import PtsOperator
from pipelines import commands

FENCE = "{{ params.fence }}"
NAME = {"replay_id": "{{ run_id | replay_name }}"}
HOURS = timedelta(hours=12)
# Violation, ExpectationFailed. Where a check could not be made, a person decides.
DO_NOT_HOLD = "{{ ti.xcom_pull(task_ids=['verify', 'check'], key='exit_code') | select('in', [13, 17]) | list }}"
REPORT = """
{% set found = ti.xcom_pull(task_ids='compare') %}**{{ found.verdict }}**, at batch {{ found.fence }}.
[All differences, with samples]({{ found.page }})

| table | live rows | replayed rows | missing | extra | changed |
|---|---:|---:|---:|---:|---:|
{% for t in found.tables %}| {{ t.table }} | \
{{ [t.live_rows, t.shadow_rows, t.missing, t.extra, t.changed] | map('grouped') | join(' | ') }} |
{% endfor %}
"""

with DAG(
    dag_id="replay",
    description="The log through the code of today: plan, build, compare, approve, promote.",
    doc_md=__doc__,
    schedule=None,
    params={
        "dry_run": Param(True, type="boolean", description="Only plan."),
        "fence": Param(None, type=["null", "integer"], minimum=0, description="Up to this batch; the newest without."),
        "expect": Param(
            [], type="array", items={"type": "string"}, description="schema.table[.column] that may differ."
        ),
    },
    tags=["history"],
    **FLEET,
) as dag:
    plan = PtsOperator(
        task_id="plan", doc_md="`pts replay plan`.", command=commands.ReplayPlan, parameters={"at_batch": FENCE}
    )  # fmt: skip
    build = PtsOperator(
        task_id="build", doc_md="`pts replay build`, unless this is a dry run.", command=commands.ReplayBuild,
        parameters={**NAME, "at_batch": FENCE}, execution_timeout=HOURS, only_if="{{ not params.dry_run }}",
    )  # fmt: skip
    compare = PtsOperator(
        task_id="compare", doc_md="`pts replay compare`.", command=commands.ReplayCompare, execution_timeout=HOURS,
        parameters={**NAME, "expect": "{{ params.expect }}"}, inlets=assets(*GOLD_TABLES),
    )  # fmt: skip
    approve = ApprovalOperator(
        task_id="approve", doc_md="A person looks at the comparison.", subject="Promote {{ run_id | replay_name }}?",
        body=REPORT, response_timeout=timedelta(days=7), execution_timeout=None, retries=0, notifiers=Asked(),
    )  # fmt: skip
    promote = PtsOperator(
        task_id="promote", doc_md="`pts replay promote`.", command=commands.ReplayPromote, parameters=NAME,
        outlets=assets(*GOLD_TABLES), execution_timeout=HOURS,
    )  # fmt: skip
    verify = PtsOperator(task_id="verify", doc_md="`pts verify`.", command=commands.Verify)
    check = PtsOperator(task_id="check", doc_md="`pts check`.", command=commands.Check)
    record = PtsOperator(task_id="record", doc_md="`pts replay list`.", command=commands.ReplayList)
    roll_back = PtsOperator(
        task_id="roll_back", doc_md="`pts replay rollback`, when they do not hold.", trigger_rule="one_failed",
        command=commands.ReplayRollback, parameters=NAME, only_if=DO_NOT_HOLD, execution_timeout=HOURS,
    )  # fmt: skip
    plan >> build >> compare >> approve >> promote >> verify >> check >> [record, roll_back]
