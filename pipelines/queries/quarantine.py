"""`pts quarantine list` and `pts quarantine show`: what the rules rejected."""

from contextlib import closing
from typing import Any

from pipelines.commands import QuarantineShow
from pipelines.contracts.envelope import masked
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.keys.clearance import Clearance
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.values import rows_of

LISTED = """
    SELECT kafka_topic, reason, count(*) AS record_count,
        min(kafka_timestamp) AS first_at, max(kafka_timestamp) AS last_at,
        arg_max(detail, kafka_timestamp) AS last_detail
    FROM silver.quarantine GROUP BY ALL ORDER BY record_count DESC, kafka_topic, reason
"""
SHOWN = """
    SELECT kafka_topic, kafka_partition, kafka_offset, kafka_timestamp, reason, detail, key, value, headers
    FROM silver.quarantine WHERE reason = ?
    ORDER BY kafka_timestamp DESC, kafka_topic, kafka_partition, kafka_offset LIMIT ?
"""


def listed(settings: Settings) -> list[dict[str, Any]]:
    """By topic and reason: how many records, from when to when, and what was wrong with the newest.

    Raises `NotFound` when there is no lake yet.
    """
    with part("Counting rejected records"):
        rows = rows_of(LakeReader(settings.lake_root).query(LISTED))
    return [{**row, "last_detail": row["last_detail"] and masked(row["last_detail"])} for row in rows]


def shown(command: QuarantineShow, settings: Settings) -> list[dict[str, Any]]:
    """The newest records of a reason. Bytes are text where they are UTF-8, elsewhere hexadecimal digits after `0x`.

    What is sealed is shown as this process's user may see it. Raises `NotFound` when there is no lake yet,
    `KeysUnavailable` for a key store that is none.
    """
    with part("Reading rejected records"):
        rows = rows_of(LakeReader(settings.lake_root).query(SHOWN, [command.reason, command.limit]))
    with closing(Clearance.of(settings)) as clearance:
        return [{name: _legible(value) for name, value in clearance.record(row).items()} for row in rows]


def _legible(value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return f"0x{value.hex()}"
    if isinstance(value, list):
        return [{name: _legible(each) for name, each in header.items()} for header in value]
    return value
