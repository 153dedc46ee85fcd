"""Sealing of personal fields."""

from pydantic import BaseModel, Field, field_validator

from pipelines.settings.paths import AbsolutePath

CARRIER = "status_description"
"""The column in which an envelope travels: a text that no table is keyed by, counts by or is quoted from (ADR 29)."""

SEALABLE = (CARRIER, "carrier_code", "country", "state", "city", "postal_code")
"""Columns that a deployment may mark as personal: those that neither a rule nor a scan's identity needs."""


class Seal(BaseModel, frozen=True, extra="forbid"):
    """Sealing: personal fields reach the kept topics in an envelope, whose key `pts erase` destroys."""

    enabled: bool = Field(
        default=False,
        description="Whether producers write to intake topics, from which `pts seal` moves records into the kept ones. "
        "Turn it on before the first record: what stands on the log in clear stays there.",
    )
    fields: str = Field(
        default="postal_code,city,status_description",
        description="Columns of silver.ship_events that are sealed, separated by commas. status_description is always "
        "one of them, for the envelope travels in it; carrier_code, country and state may be, and nothing is counted "
        "by a column that is.",
    )
    keys: AbsolutePath | None = Field(
        default=None,
        description="File of the keys. Empty: $PTS_HOME/seal/keys.sqlite. Who can read it reads in clear; who loses it "
        "has lost what was sealed. Keep its backups no longer than an erasure may take to reach them.",
    )
    intake_hours: int = Field(
        default=24,
        ge=1,
        le=96,
        description="How long intake topics keep a record, counted from its timestamp; applied at their creation. `pts "
        "seal` may be away for so long. Above 4 days, brokers begin to forget how far it has come.",
    )
    day_key_days: int = Field(
        default=30,
        ge=1,
        description="How many days the key of a day lives, by which values are sealed whole that were not understood: "
        "so long they can be looked into.",
    )

    @field_validator("fields")
    @classmethod
    def _are_sealable(cls, fields: str) -> str:
        named = [name.strip() for name in fields.split(",")]
        if unknown := sorted(set(named) - set(SEALABLE)):
            raise ValueError(f"{', '.join(unknown)} cannot be sealed; {', '.join(SEALABLE)} can")
        if CARRIER not in named:
            raise ValueError(f"{CARRIER} must be one of them: the envelope travels in it")
        return ",".join(dict.fromkeys(named))

    @property
    def columns(self) -> tuple[str, ...]:
        """The fields, one by one."""
        return tuple(self.fields.split(","))
