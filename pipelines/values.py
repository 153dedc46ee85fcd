"""Values of tables as plain Python, as JSON and as text.

Timestamps are ISO 8601 with microseconds: in UTC with a Z, and without one where they have no time zone. Bytes are
their UTF-8 text, with `\\xNN` where they are none (SQL's `hex()` gives them unambiguously).
"""

import json
import math
import re
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pipelines.contracts.rules import Status
from pipelines.errors import printable

UNPRINTABLE = re.compile(r"[^\n -~]")
"""What may be a character that a terminal obeys."""


def json_text(value: Any, indent: int | None = None) -> str:
    """The value as JSON in which letters stay as they are, and what a terminal would obey is escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return UNPRINTABLE.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)


def as_json(value: Any) -> Any:
    """A value as JSON can carry it. A number that JSON lacks (NaN, infinity) becomes its name."""
    match value:
        case datetime():
            return iso_utc(value) if value.tzinfo else value.isoformat(timespec="microseconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {str(key): as_json(item) for key, item in value.items()}
        case list() | tuple():
            return [as_json(item) for item in value]
        case _:
            return value


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as plain Python; a time beyond the years 1 to 9999, which Python lacks, is its ISO 8601 text."""
    names, columns = table.column_names, map(values_of, table.columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def values_of(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """The values of a column, as `rows_of` has them."""
    try:
        found: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in column]
    return found


def _value(scalar: pa.Scalar) -> Any:
    match scalar:
        case pa.ListScalar() if scalar.is_valid:
            return [_value(each) for each in scalar.values]
        case pa.StructScalar() if scalar.is_valid:
            return {name: _value(each) for name, each in scalar.items()}
        case pa.TimestampScalar() if scalar.is_valid:
            with suppress(OverflowError, ValueError):
                return scalar.as_py()
            far = np.datetime64(scalar.value, scalar.type.unit).astype("datetime64[us]")
            return f"{far}{'Z' if scalar.type.tz else ''}"
        case _:
            return scalar.as_py()


def iso_utc(moment: datetime | str) -> str:
    """`2026-01-01T00:00:00.000000Z`, of a moment with a time zone; one that is text already stays as it is."""
    if isinstance(moment, str):
        return moment
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def cell_text(value: Any) -> str:
    """A value as text; a null is empty."""
    plain = as_json(value)
    if plain is None:
        return ""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def status_text(code: str | None) -> str:
    """A scan's status code in words."""
    known = {status.value: status.name.lower().replace("_", " ") for status in Status}
    return "status unknown" if code is None else known.get(code) or printable(f"status {code}")
