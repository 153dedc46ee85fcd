"""Rows of tables as the oracle writes them, given to queries, and what these answer."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

import pyarrow as pa

from pipelines.io.delta import duck
from pipelines.tables import SILVER_SHIP_EVENTS, SILVER_SHIP_ROUTES, Table
from tests.comparison import in_micros
from tests.oracle.judge import judge
from tests.oracle.records import LogRecord
from tests.oracle.rejection import RejectedError

ARROW = {
    "BIGINT": pa.int64(),
    "INT": pa.int32(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}


def arrow(table: Table, rows: Iterable[Mapping[str, Any]] = (), **more: pa.DataType) -> pa.Table:
    """The rows in the shape of a table of plain columns, and of more; times are microseconds since the epoch."""
    listed, types = list(rows), {**{column.name: ARROW[column.type] for column in table.columns}, **more}
    numbers = {name: pa.array([row.get(name) for row in listed], _number(kind)) for name, kind in types.items()}
    return pa.table({name: values.cast(types[name]) for name, values in numbers.items()})


def scans(records: Iterable[LogRecord]) -> pa.Table:
    """Rows of silver.ship_events, one per record."""
    return arrow(SILVER_SHIP_EVENTS, (judge(record, "csv") for record in records))


def judged(records: Iterable[LogRecord], silver: Table) -> pa.Table:
    """Records of a topic with their verdicts, in the columns of its silver table."""
    return arrow(silver, map(_verdict, records), reason=pa.string())


def judged_events(records: Iterable[LogRecord]) -> pa.Table:
    return judged(records, SILVER_SHIP_EVENTS)


def judged_routes(records: Iterable[LogRecord]) -> pa.Table:
    return judged(records, SILVER_SHIP_ROUTES)


def answer(query: str, **read: pa.Table) -> pa.Table:
    """What a query gives that reads these tables."""
    with closing(duck.cursor()) as cursor:
        for name, rows in read.items():
            cursor.register(name, rows)
        return cursor.sql(query).to_arrow_table()


def plain(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows as the oracle writes them."""
    listed: list[dict[str, Any]] = in_micros(rows).to_pylist()
    return listed


def _number(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_timestamp(kind) else kind


def _verdict(record: LogRecord) -> Mapping[str, Any]:
    try:
        return judge(record, "csv")
    except RejectedError as error:
        return {"reason": error.reason}
