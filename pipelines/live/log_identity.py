"""Whether the log is still the one that was read: offsets alone do not tell."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from pipelines.errors import LogTruncated
from pipelines.graph import ARCHIVES
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.consumer import Message, first_messages
from pipelines.io.kafka.log import Offsets
from pipelines.io.kafka.record_tasks import within_years
from pipelines.tables import Table

LOOKS_BACK = 2, 10_000
"""How far back the newest record is looked for: the last offsets that were read may be ends of transactions, or were
taken back in them, and are no records."""


def check_same_log(lake: Lake, reached: Mapping[str, Offsets], begin: Offsets, connection: Connection) -> None:
    """Compares the newest archived record of each partition with what the log holds at its offset.

    A topic that was deleted and created again, or a broker that came back with an older log, may have grown beyond what
    was read. A record that the log has deleted, as one before `begin`, is not compared.

    Args:
        lake: The tables.
        reached: By table name, up to where on the log it has come.
        begin: First offset that each partition of the log still holds.
        connection: The log's.

    Raises:
        LogTruncated: Another record is there, or none.
    """
    archived: dict[str, dict[int, Message]] = {}
    for topic, table in ARCHIVES.items():
        newest = _newest(lake, table, reached.get(table.name, {}).get(topic, {}))
        archived[topic] = {part: message for part, message in newest.items() if message.offset >= begin[topic][part]}
    starts = {topic: {part: message.offset for part, message in found.items()} for topic, found in archived.items()}
    there = first_messages(connection, starts)
    for topic, found in archived.items():
        for partition, message in found.items():
            held = there.get((topic, partition))
            if held is None or _as_archived(held) != _as_archived(message):
                raise LogTruncated(
                    f"{topic}/{partition} holds another record at offset {message.offset} than the one that was read: "
                    "the topic was recreated, or the broker came back with an older log, and has grown since. Restore "
                    "the topic, or build a new lake from this log."
                )


def _newest(lake: Lake, table: Table, ends: Mapping[int, int]) -> dict[int, Message]:
    """The newest record of each partition, within `LOOKS_BACK` of where the archive has come."""
    found: dict[int, Message] = {}
    for back in LOOKS_BACK:
        spans = {(max(0, end - back), end) for partition, end in ends.items() if end and partition not in found}
        rows = lake.look_up(table, "kafka_offset", spans)
        for message in _messages(rows) if rows.num_rows else ():
            if found.get(message.partition, message).offset <= message.offset < ends.get(message.partition, 0):
                found[message.partition] = message
    return found


def _as_archived(message: Message) -> Message:
    return replace(message, timestamp_ms=within_years(message.timestamp_ms))


def _messages(archived: pa.Table) -> Iterator[Message]:
    names = "kafka_partition", "kafka_offset", "value", "key"
    micros = archived["kafka_timestamp"].cast(pa.int64())  # a Python time would end in the year 9999
    columns = (*(archived[name].to_pylist() for name in names), micros.to_pylist())
    for partition, offset, value, key, micro in zip(*columns, strict=True):
        yield Message(partition, offset, value, key, micro // 1000)
