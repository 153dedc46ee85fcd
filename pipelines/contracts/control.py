"""The topic by which other systems ask for work: each message is one request, as a JSON object."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from pipelines.contracts.topics import Topic

PTS_CONTROL = Topic(
    name="pts-control",
    doc="Requests for replays, each kept for a week. The key is free.",
    cleanup_policy="delete",
    config={"retention.ms": str(7 * 24 * 60 * 60 * 1000)},
)


class ReplayRequest(BaseModel):
    """A replay that somebody asks for: `requestId`, `fence`, `expect`, `dryRun`; any other member is refused.

    Attributes:
        request_id: Names the request: two messages of one name are one request.
        fence: The batch up to which; the newest consistent one without.
        expect: Differences that are declared: `schema.table`, or `schema.table.column`.
        dry_run: Only plans.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel)

    request_id: str = Field(pattern=r"^[0-9a-z][0-9a-z-]{0,50}$")
    fence: int | None = Field(default=None, ge=0)
    expect: list[Annotated[str, Field(pattern=r"^\w+(\.\w+){1,2}$", max_length=200)]] = Field(
        default=[], max_length=1_000
    )
    dry_run: bool = True
