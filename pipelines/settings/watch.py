"""When somebody is to look, and where word of it goes."""

import re
from typing import ClassVar

from pydantic import BaseModel, Field, field_validator

from pipelines.errors import InvalidInput
from pipelines.secret import SecretAddress, SecretGroup

ALERT_ADDRESS = re.compile(r"log|mailto:[^@\s]+@[^@\s]+|https?://\S+")


class Health(BaseModel, frozen=True, extra="forbid"):
    """Limits of `pts health`: beyond them somebody is to look."""

    heartbeat_seconds: float = Field(
        default=60.0,
        gt=0,
        description="Longest silence of the live job. It beats about once a second, also during a batch; below 10 a "
        "start or a full disk queue alarms.",
    )
    lag_records: int = Field(
        default=1_000_000, ge=0, description="Most records between the log's end and the job: about one full batch."
    )
    lag_seconds: float = Field(
        default=300.0, gt=0, description="Longest time since the log's end was where the job is now."
    )
    freshness_seconds: float = Field(
        default=600.0,
        gt=0,
        description="How long a batch may be in the ledger before every table has it. Windows catch "
        "up every PTS_STREAM__FOLLOW_SECONDS; below twice that, an ordinary round alarms.",
    )
    airflow_task_seconds: float = Field(
        default=900.0,
        gt=0,
        description="Longest time in which the embedded Airflow starts no task. Two of its DAGs start one every 2 and "
        "every 5 minutes; below some 600, a long task of each alarms.",
    )
    file_count: int = Field(
        default=2_000,
        ge=1,
        description="Most files of one table. Readers open each of them; `pts compact` makes few of many.",
    )


class Alerts(SecretGroup, frozen=True):
    """Where word goes that somebody is to look."""

    PREFIX: ClassVar[str] = "PTS_ALERTS__"

    to: SecretAddress = Field(
        default=SecretAddress("log"),
        description="log: a line in $PTS_HOME/logs/alerts.log. mailto:someone@example.org: an e-mail. https://…: a "
        "POST with a JSON object (subject, text, at).",
    )
    smtp: str = Field(
        default="localhost:25",
        pattern=r"^[^:\s]+:\d+$",
        description="Server for e-mail, as host:port, on a trusted net.",
    )
    sender: str = Field(default="pts@localhost", description="From whom e-mail is.")
    repeat_seconds: float = Field(
        default=3_600.0,
        ge=0,
        description="An alert whose subject and text differ in numbers alone is not sent again for so long, or a fault "
        "that lasts would fill the inbox. 0: always.",
    )

    @field_validator("to")
    @classmethod
    def _is_an_address(cls, to: SecretAddress) -> SecretAddress:
        if not (to.file or ALERT_ADDRESS.fullmatch(to.reveal())):
            raise ValueError("it is neither log nor mailto:someone@example.org nor https://…")
        return to

    def address(self) -> str:
        """The address to which alerts go. Raises `InvalidInput` for a file that says nothing of the kind."""
        address = self.to.reveal()
        if not ALERT_ADDRESS.fullmatch(address):
            raise InvalidInput(
                f"{self.PREFIX}TO_FILE={self.to.file} has neither log nor mailto:someone@example.org nor https://…"
            )
        return address


class Quality(BaseModel, frozen=True, extra="forbid"):
    """What `pts check` warns of. What makes it fail are rules, so code."""

    freshness_seconds: float = Field(
        default=900.0,
        gt=0,
        description="Warn when the tables last took in records more than this before the check. Below some 120 s the "
        "interval of the windows alone makes it warn. It warns, too, when producers are silent on purpose.",
    )
    negative_stops_share: float = Field(
        default=0.02,
        ge=0,
        le=1,
        description="Warn when more than this share of the known remaining stops is below 0: scans beyond the end of "
        "their route.",
    )
    quarantined_share: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Warn when more than this share of the records of the last hour of batches was quarantined. The "
        "simulated feed has about 0.02.",
    )
    volume_factor: float = Field(
        default=3.0,
        gt=1,
        description="Warn when the newest whole hour of event time has this many times more, or fewer, scans than the "
        "same hour of the 7 days before it had on average. Near 1 every quiet Sunday makes it warn.",
    )
    kept_pages: int = Field(
        default=50,
        ge=1,
        description="Pages of so many runs are kept under $PTS_HOME/quality, of some 5 MB each; older ones are "
        "deleted. ops.quality keeps all results.",
    )
