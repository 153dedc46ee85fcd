"""Which rows may be let go?"""

from datetime import UTC, datetime

from pipelines.tables.record import Expiry


def is_expired(expiry: Expiry | None, before: datetime | None) -> str:
    """SQL: whether a row's time lies before the given one, and it is of the kind that expires. Never null; of no row
    where no kind expires, or none ever did.
    """
    if not (expiry and before):
        return "false"
    return f"coalesce(({expiry.condition}) AND {expiry.column} < {moment(before)}, false)"


def moment(time: datetime) -> str:
    """The time as SQL."""
    return f"TIMESTAMPTZ '{time.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}+00'"
