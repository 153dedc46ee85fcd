"""What jobs take at once, when they wait, and what they leave."""

from pydantic import BaseModel, Field


class Stream(BaseModel, frozen=True, extra="forbid"):
    """The continuous job."""

    max_records_per_batch: int = Field(
        default=1_500_000,
        ge=1,
        description="Most records that one micro-batch takes from the log. Larger batches drain a backlog faster, "
        "need more memory and make a stop take longer: 1,000,000 are some 17 s of work on two cores with a warm JVM, "
        "and 42 s with a cold one. Far below 1,000 the fixed cost of a batch dominates.",
    )
    trigger_seconds: float = Field(
        default=0.0,
        ge=0,
        description="Least time between the starts of two micro-batches. 0: the next one starts when the last is "
        "done and there is something to read.",
    )
    follow_seconds: float = Field(
        default=60.0,
        ge=0,
        description="Seconds between two catch-up rounds of the tables that need not move with every batch: windows "
        "and alerts. Each write costs about the same for few rows as for many. Keep it well below "
        "PTS_HEALTH__FRESHNESS_SECONDS, which alarms when they stay behind.",
    )


class Replay(BaseModel, frozen=True, extra="forbid"):
    """Replays of the log, beside the continuous job."""

    max_records_per_batch: int = Field(
        default=1_500_000, ge=1, description="Most records that one batch of a replay takes from the log."
    )
    wait_above_lag: int = Field(
        default=200_000,
        ge=0,
        description="A replay waits between two batches while the live job is more records than this behind the log.",
    )


class Compact(BaseModel, frozen=True, extra="forbid"):
    """What `pts compact` leaves."""

    retention_hours: int = Field(
        default=168,
        ge=24,
        le=168,
        description="How long a file stays after the newest version stopped to need it, in hours: so far back tables "
        "can be read as of a batch, and so long a reader may take. Below a day, a query that runs over night would "
        "lose its files; above a week, Delta's checkpoints no longer tell when a file was replaced. What a replay, its "
        "rollback or the newest consistent batch needs stays for longer.",
    )
