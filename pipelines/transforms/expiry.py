"""Which rows may be removed, and how does a table go on from those that expired?"""

from collections.abc import Iterable
from datetime import UTC, datetime

from pipelines.tables.record import Expiry


def is_expired(expiry: Expiry | None, before: datetime | None) -> str:
    """SQL: whether a row's time lies before the given one, and it is of the kind that expires. Never null; of no row
    where no kind expires, or none ever did.
    """
    if not (expiry and before):
        return "false"
    return f"coalesce(({expiry.condition}) AND {expiry.column} < {moment(before)}, false)"


def going_on_from(there: str, expired: str, key: tuple[str, ...], new: Iterable[str]) -> str:
    """SQL: a table's rows with the keys of new ones (names of queries); where it has none, the row that expired."""
    names = ", ".join(key)
    return f"""
        WITH touched AS ({" UNION ".join(f"SELECT {names} FROM {each}" for each in new)}),
            there AS (SELECT * FROM ({there}) SEMI JOIN touched USING ({names}))
        FROM there UNION ALL BY NAME
        SELECT * FROM ({expired}) SEMI JOIN touched USING ({names}) ANTI JOIN there USING ({names})
    """


def moment(time: datetime) -> str:
    """The time as SQL."""
    return f"TIMESTAMPTZ '{time.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}+00'"
