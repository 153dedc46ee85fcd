"""What becomes of a batch's records of a topic: one Spark job, whose tasks write the files of the tables.

All of a package's records are in one partition, and a partition is read by one task. So a task knows all that the batch
says of its packages, and decides alone which scans are new. Where a producer has put a package in two, the scans that
two tasks have kept are looked through once more.
"""

import pickle
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import chain
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection as Cursor
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.contracts.topics import Topic
from pipelines.contracts.wire import Wire
from pipelines.engine.key_index import KeyIndex
from pipelines.io.delta import data_files, delta_rs, duck
from pipelines.io.delta.data_files import DataFile
from pipelines.io.delta.delta_table import Tables
from pipelines.io.delta.readable_lake import rows_of
from pipelines.io.storage import access
from pipelines.lake_root import is_in_store
from pipelines.prepared_query import PreparedQuery, Task
from pipelines.tables import Table
from pipelines.transforms.expiry import moment
from pipelines.transforms.judge import judged
from pipelines.transforms.windows import hours_with_scans

TABLES = Tables()
"""The tables that a task's process has open, from batch to batch."""

INDEX = KeyIndex()
"""What it knows of their files."""


@dataclass(frozen=True)
class RecordFlow:
    """A flow that reads records, as a task needs it.

    Attributes:
        name: The flow's.
        into: Its table.
        folder: Where the table's files are.
        by: The query over `records` and, if it has one, `known`.
        where: SQL: which of the records are for it.
        known: The name under which it reads the table's rows of the same hours, as they were at `version`.
        version: That version.
    """

    name: str
    into: Table
    folder: str
    by: str
    where: str
    known: str | None = None
    version: int = 0


@dataclass(frozen=True)
class Written:
    """What the tasks have made of the records.

    Attributes:
        read_count: Records of the batch.
        rejected_count: Those that some rule rejects.
        files: The new files of each flow's table, by the flow's name.
    """

    read_count: int
    rejected_count: int
    files: Mapping[str, tuple[DataFile, ...]]


def write(
    records: DataFrame, topic: Topic, wire: Wire, flows: Sequence[RecordFlow], of_batch: str, ingested_at: datetime
) -> Written:
    """Judges records in one Spark job, whose tasks write the files of the flows' tables; what they wrote.

    Args:
        records: The topic's. What one task reads, is one partition of the frame.
        topic, wire: By which they are judged.
        flows: Make the rows of the tables from them.
        of_batch: SQL: which of the records are the batch's own; others are there for tables that were behind.
        ingested_at: When the batch began. Among the columns of the frame, it would be a constant in what Spark
            compiles, which would then be compiled again for each batch.
    """
    task = _task(flows, of_batch, ingested_at)
    query = handed_over(topic, wire, [flow.into for flow in flows])
    parts: list[Written] = [pickle.loads(part) for part in query.given_to(task, records)]
    files = {flow.name: tuple(chain.from_iterable(part.files[flow.name] for part in parts)) for flow in flows}
    for flow in flows:
        if flow.known and len(files[flow.name]) > 1:
            files[flow.name] = _each_once(flow, files[flow.name])
    return Written(sum(part.read_count for part in parts), sum(part.rejected_count for part in parts), files)


def handed_over(topic: Topic, wire: Wire, tables: Iterable[Table]) -> PreparedQuery:
    """What tasks are given of records: judged, with all from which rows of the tables are made."""
    wanted = {"kafka_partition", "kafka_offset", "headers", "reason"}.union(*(table.column_names for table in tables))
    return judged_columns(topic, wire, frozenset(wanted - {"ingested_at"}))


@cache
def judged_columns(topic: Topic, wire: Wire, names: frozenset[str]) -> PreparedQuery:
    """The query that judges a topic's records and keeps these columns; the same one for each batch."""
    columns = [_headers_as_text() if name == "headers" else F.col(name) for name in sorted(names)]
    return PreparedQuery(lambda records: judged(records, topic, wire).select(*columns))


def _headers_as_text() -> Column:
    """The headers as JSON, with bytes as hexadecimal digits. For each row that Spark gives to Python
    it asks how large the rows are; with a list of structs among the columns, that takes longer than all else.
    """
    header = F.transform(
        "headers",
        lambda each: F.struct(F.hex(F.encode(each["key"], "UTF-8")).alias("key"), F.hex(each["value"]).alias("value")),
    )
    return F.to_json(header).alias("headers")


HEADERS = """
    list_transform(
        from_json(headers, '[{"key": "VARCHAR", "value": "VARCHAR"}]'),
        lambda each: {'key': decode(unhex(each.key)), 'value': unhex(each.value)}
    ) AS headers
"""
"""What `_headers_as_text` made of them, as it was before."""


def _task(flows: Sequence[RecordFlow], of_batch: str, ingested_at: datetime) -> Task:
    stores = access.options()

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next(batches, None)
        if first is None:
            return
        access.reach_as(stores)
        for flow in flows:
            duck.reach(flow.folder)
            _check_shared(flow.folder)
        with closing(duck.cursor(threads=1)) as cursor:
            cursor.register("arriving", pa.RecordBatchReader.from_batches(first.schema, chain([first], batches)))
            columns = f"* REPLACE ({HEADERS}), {moment(ingested_at)} AS ingested_at"
            cursor.execute(f"CREATE TEMP TABLE every_record AS SELECT {columns} FROM arriving")
            counted = f"SELECT count(*), count(reason) FROM every_record WHERE {of_batch}"
            ((read_count, rejected_count),) = cursor.execute(counted).fetchall()
            files = {flow.name: tuple(_files(cursor, flow)) for flow in flows}
        yield pa.RecordBatch.from_pydict({"bytes": [pickle.dumps(Written(read_count, rejected_count, files))]})

    return run


def _check_shared(folder: str) -> None:
    """Raises `FileNotFoundError` where a worker does not see a table's folder, and would make one of its own."""
    if not is_in_store(folder) and not Path(folder).is_dir():
        raise FileNotFoundError(f"the folder {folder} is not there on {socket.gethostname()}, where Spark runs tasks")


def _files(cursor: Cursor, flow: RecordFlow) -> list[DataFile]:
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW records AS FROM every_record WHERE {flow.where}")
    if flow.known:
        accepted = "FROM records WHERE reason IS NULL"
        spans = hours_with_scans(cursor, accepted)
        there = delta_rs.files(TABLES.at(flow.folder, flow.version), flow.folder, "occurred_at", spans) if spans else []
        there = INDEX.files_for(cursor, accepted, flow.into, there)
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW {flow.known} AS {rows_of(flow.into, there)}")
    return data_files.write(cursor, flow.by, flow.into, flow.folder)


def _each_once(flow: RecordFlow, files: tuple[DataFile, ...]) -> tuple[DataFile, ...]:
    """The files, or others in their place where a package is in two partitions."""
    rows = rows_of(flow.into, [f"{flow.folder}/{file.name}" for file in files])
    with closing(duck.cursor()) as cursor:
        in_two = f"SELECT 1 FROM ({rows}) GROUP BY tracking_number HAVING min(kafka_partition) < max(kafka_partition)"
        if not cursor.execute(f"{in_two} LIMIT 1").fetchall():
            return files
        cursor.execute(f"CREATE TEMP VIEW records AS SELECT *, NULL AS reason FROM ({rows})")
        cursor.execute(f"CREATE TEMP VIEW {flow.known} AS {data_files.empty_rows(flow.into)}")
        return tuple(data_files.write(cursor, flow.by, flow.into, flow.folder))
