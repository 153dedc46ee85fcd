"""Renews the certificates of the embedded broker of `PTS_PROFILE=secure` a month before they expire.

- **Purpose.** A certificate is good for 90 days. The broker takes up the new one while it runs.
- **Owner.** tracking.
- **Idempotent.** A certificate that is far from its end is left. In the plain profile there is none, and nothing is
  done.
- **On failure.** Code 4: the sentence says why files or broker could not be reached. There is a month to mend it, and
  the next run tries again; `pts certificates` does the same.
"""

from airflow.sdk import DAG, CronTriggerTimetable

from dags.fleet import FLEET
from dags.pts_operator import PtsOperator
from pipelines.commands import Certificates

with DAG(
    dag_id="renew_certificates",
    description="Certificates of the embedded broker, renewed before they expire.",
    doc_md=__doc__,
    schedule=CronTriggerTimetable("0 5 * * *", timezone="UTC"),
    tags=["upkeep"],
    **FLEET,
) as dag:
    PtsOperator(
        task_id="renew",
        doc_md="`pts certificates`: when each certificate expires.",
        command=Certificates,
    )
