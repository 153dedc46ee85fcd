"""Starts `replay` for each request on the topic pts-control, once, however often it is delivered.

- **Purpose.** A release that corrects a transform asks for the replay itself, by a message: JSON with `requestId`, and
  `fence`, `expect`, `dryRun` as in the DAG `replay`. A person still approves it.
- **Owner.** tracking.
- **Idempotent.** A request's run is named after it, and a name is there once. All requests that the topic still holds
  (a week of them) are looked at each time, so nothing is missed while Airflow is down.
- **On failure.** Code 4: no broker answers. A message that is no request is named in the log, and left.
"""

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG, CronTriggerTimetable

from dags.fleet import FLEET
from dags.pts_operator import PtsOperator
from pipelines.commands import Requests

with DAG(
    dag_id="replay_requests",
    description="Requests for replays, from the topic pts-control.",
    doc_md=__doc__,
    schedule=CronTriggerTimetable("*/2 * * * *", timezone="UTC"),
    tags=["history"],
    **FLEET,
) as dag:
    requests = PtsOperator(task_id="requests", doc_md="`pts requests`.", command=Requests)
    TriggerDagRunOperator.partial(
        task_id="start_replay",
        doc_md="A run of `replay` for each request that has none yet.",
        trigger_dag_id="replay",
        skip_when_already_exists=True,
    ).expand_kwargs(requests.output)
