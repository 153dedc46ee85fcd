"""The consumer of all that reads partitions by itself, without a group that shares them."""

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer

from pipelines.io.kafka.connection import GROUP, Connection
from pipelines.io.kafka.refusals import Refusals

BYTES_AT_ONCE = 8 << 20
"""After so many bytes of values, what was read is taken further before more is: records may be large."""


def standalone_consumer(
    connection: Connection, refusals: Refusals, isolation_level: str, options: Mapping[str, Any] | None = None
) -> Consumer:
    """A consumer that commits no offsets, tells of each partition's end, and reports its errors to `refusals`.

    Raises `InvalidInput` as `Connection.client_options`.
    """
    return Consumer(
        {
            **connection.client_options(),
            "group.id": GROUP,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation_level,
            "error_cb": refusals.note,
            "log_level": 0,
            **(options or {}),
        }
    )
