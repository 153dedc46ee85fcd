"""Lineage for catalogues of data."""

from pydantic import BaseModel, Field

from pipelines.settings.paths import AbsolutePath


class Lineage(BaseModel, frozen=True, extra="forbid"):
    """What was read and written by whom, told as OpenLineage events, for catalogues of data."""

    enabled: bool = Field(
        default=False,
        description="Whether the job, sealing, erasure, replays and the commands of DAGs append their events to the "
        "file.",
    )
    file: AbsolutePath | None = Field(
        default=None,
        description="The file: one event a line, as JSON. Empty: $PTS_HOME/lineage/events.jsonl. Nothing shortens it; "
        "whoever moves it away finds a new one.",
    )
    every_seconds: float = Field(
        default=60.0,
        ge=0,
        description="The live job tells of its batches at most so often; an event has all since the one before, of "
        "some 6 KB. 0: of each batch.",
    )
