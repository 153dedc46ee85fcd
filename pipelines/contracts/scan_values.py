"""What a value of topic ship-events tells, read without an engine: for the few records about which a person asks."""

import csv
import io
import json
from datetime import UTC, datetime
from typing import Any

from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.contracts.topics import SHIP_EVENTS, FieldKind

LARGEST_VALUE = 1 << 24
"""Bytes: more than a broker takes."""

DETAILS = tuple(field.column for field in SHIP_EVENTS.fields if field.column not in SCAN_IDENTITY)
"""Columns in which two scans of one identity may differ: the first that was told counts."""


def told(value: bytes, wire_format: str) -> dict[str, Any]:
    """What a record says that the rules accepted, or dropped as a repeat: its value by column of silver.ship_events."""
    texts: dict[str, Any]
    if wire_format == "json":
        texts = json.loads(value)
    else:
        csv.field_size_limit(LARGEST_VALUE)
        (cells,) = csv.reader(io.StringIO(value.decode(), newline=""), strict=True)
        texts = dict(zip((field.name for field in SHIP_EVENTS.fields), cells, strict=True))
    return {field.column: _typed(field.kind, texts.get(field.name)) for field in SHIP_EVENTS.fields}


def _typed(kind: FieldKind, text: Any) -> Any:
    if text is None or text == "":
        return None
    if kind == "integer":
        return int(text)
    if kind == "timestamp":
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return text
