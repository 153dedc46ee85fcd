"""What is in an archive of `tests/golden`: how it is packed, and how its log is put back."""

import base64
import json
import tarfile
from pathlib import Path

from confluent_kafka import Producer

from tests.oracle.records import LogRecord

LAKE = "lake"
LOG = "log.json"
PARTITIONS = 2


def pack(archive: Path, lake: Path, log: list[LogRecord]) -> None:
    """Raises `ValueError` for a log with headers, which are not kept."""
    if any(record.headers for record in log):
        raise ValueError("headers of records are not kept")
    rows = [
        (*(each.topic, each.partition, each.offset, each.timestamp_ms), _as_text(each.key), _as_text(each.value))
        for each in log
    ]
    told = lake.parent / LOG
    told.write_text(json.dumps(rows), encoding="ascii")
    with tarfile.open(archive, "w:gz") as out:
        out.add(told, LOG)
        out.add(lake, LAKE)


def unpack(archive: Path, folder: Path) -> list[LogRecord]:
    """Puts the lake into the folder, and gives the log."""
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    rows = json.loads((folder / LOG).read_text(encoding="ascii"))
    return [
        LogRecord(topic, partition, offset, timestamp_ms, _as_bytes(key), _as_bytes(value))
        for topic, partition, offset, timestamp_ms, key, value in rows
    ]


def put_back(log: list[LogRecord], servers: str) -> None:
    """Appends the records to empty topics: each gets the offset that it had."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for record in sorted(log, key=lambda record: record.offset):
        producer.produce(
            record.topic, record.value, record.key, partition=record.partition, timestamp=record.timestamp_ms
        )
    assert producer.flush(60) == 0


def _as_text(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def _as_bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
