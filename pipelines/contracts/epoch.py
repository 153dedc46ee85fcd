"""Where times in milliseconds and microseconds are counted from."""

from datetime import UTC, datetime

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
