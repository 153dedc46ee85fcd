"""What a value of topic ship-events tells: for the few records about which a person asks."""

from datetime import timedelta
from typing import Any

from pipelines.contracts.decode import decoded, typed
from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.contracts.topics import SHIP_EVENTS

DETAILS = tuple(field.column for field in SHIP_EVENTS.fields if field.column not in SCAN_IDENTITY)
"""Columns in which two scans of one identity may differ: the first that was told counts."""


def told(value: bytes, wire_format: str) -> dict[str, Any]:
    """What a record says that the rules accepted, or dropped as a repeat: its value by column of silver.ship_events."""
    texts, _ = decoded(value, SHIP_EVENTS.fields, wire_format)
    values: dict[str, Any] = {field.column: typed(field.kind, texts[field.column]) for field in SHIP_EVENTS.fields}
    return values | {"occurred_at": EPOCH + timedelta(microseconds=values["occurred_at"])}
