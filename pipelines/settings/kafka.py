"""The log, and the embedded broker."""

from typing import Literal

from pydantic import BaseModel, Field, model_validator

from pipelines.kafka_security import PREFIX, Security, hosts, is_loopback
from pipelines.wire_format import WireFormat

TimesWithoutOffset = Literal["utc", "quarantine"]


class Kafka(BaseModel, frozen=True, extra="forbid"):
    """The log: where it is and how its records are written."""

    bootstrap_servers: str | None = Field(
        default=None,
        description="Brokers as host:port[,host:port]. Empty: the embedded broker. Set: no broker is started and "
        "these are used.",
    )
    partitions: int = Field(
        default=4,
        ge=1,
        description="Partitions of each topic that is created; one that exists keeps its own. Bounds the read "
        "parallelism; it can never be changed afterwards, because all records of a package must stay in one partition.",
    )
    replication_factor: int = Field(
        default=1,
        ge=1,
        description="Copies of each topic, applied at its creation. 1 fits the embedded broker; 3 a cluster.",
    )
    ship_events_format: WireFormat = Field(
        default="csv", description="How the values of topic ship-events are written."
    )
    ship_routes_format: WireFormat = Field(
        default="csv", description="How the values of topic ship-routes are written."
    )
    times_without_offset: TimesWithoutOffset = Field(
        default="utc",
        description="What a scan's time without an offset is: one in UTC, or none (`quarantine`), where carriers are "
        "known to write their local time.",
    )
    lag_group: str = Field(
        default="superfast-pts",
        max_length=200,
        description="Consumer group to which the job's offsets are mirrored after each batch, for tools that watch "
        "lag. It is never read; each lake that shares brokers needs one of its own. Empty: none.",
    )
    security: Security = Security()

    @model_validator(mode="after")
    def _is_private(self) -> "Kafka":
        strangers = [host for host, _ in hosts(self.bootstrap_servers or "") if not is_loopback(host)]
        if strangers and not (self.security.is_encrypted or self.security.allow_plaintext):
            raise ValueError(
                f"{PREFIX}PROTOCOL={self.security.protocol} would send records to {strangers[0]} unencrypted: set it "
                f"to SSL or SASL_SSL, or {PREFIX}ALLOW_PLAINTEXT=true where the network is trusted"
            )
        if not self.bootstrap_servers and self.security != Security():
            raise ValueError(
                f"{PREFIX}… is for brokers that PTS_KAFKA__BOOTSTRAP_SERVERS names; PTS_PROFILE=secure is for the "
                "embedded one"
            )
        return self


class Broker(BaseModel, frozen=True, extra="forbid"):
    """The embedded broker: Apache Kafka, one node on the loopback interface."""

    port: int = Field(default=9092, ge=1, le=65535, description="Port for clients.")
    controller_port: int = Field(
        default=9093, ge=1, le=65535, description="Port of the KRaft controller, used by the broker itself."
    )
    heap_mb: int = Field(
        default=384,
        ge=128,
        le=512,
        description="Java heap in MiB. Kafka serves reads from the page cache, so more heap buys nothing.",
    )
