"""Definitions, small writes and looks at Delta tables by delta-rs, for which Spark's cost is nearly all fixed.

What DuckDB finds among rows, it finds in the files that delta-rs names.

The tables are the same to both: delta-rs checks the same constraints, keeps the same statistics and honours the same
transactions. It rewrites only the files that hold a key, and looks only into those whose statistics may.
"""

import json
import os
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import CommitProperties, DeltaTable, Schema, write_deltalake
from deltalake import Transaction as AppTransaction
from deltalake.exceptions import DeltaError
from deltalake.table import TableMerger
from deltalake.transaction import AddAction, RemoveAction

from pipelines.errors import LakeMismatch
from pipelines.io.delta.delta_table import opened
from pipelines.io.delta.parquet import parquet_rows
from pipelines.io.delta.table_log import WIDENED, Transaction
from pipelines.tables import Table
from pipelines.terminal.rendering import rows_of

Spans = Iterable[tuple[int, int]]
"""Half-open ranges of a column's values; of times, in microseconds since the Unix epoch."""

COARSE = 1_000
"""Statistics of times are cut off at the millisecond, so that a file's greatest may be this much greater."""


def exists(path: str) -> bool:
    """Whether there is a Delta table."""
    return DeltaTable.is_deltatable(path)


def create(path: str, schema_json: str, table: Table) -> None:
    """Makes the table, empty, in one commit; the schema as the Delta protocol writes it."""
    # delta-rs does not conclude it from the properties. Version 3 of the protocol is the first with constraints.
    protocol = {"delta.minWriterVersion": "3"} if table.constraints else {}
    DeltaTable.create(
        path,
        Schema.from_json(schema_json),
        description=table.doc,
        configuration=table.properties | protocol,
        raise_if_key_not_exists=False,
    )


def definition(path: str) -> tuple[str, dict[str, str]]:
    """The table's schema as the Delta protocol writes it, and its properties."""
    table = opened(path)
    return table.schema().to_json(), table.metadata().configuration


def rows(path: str, column: str, spans: Spans) -> pa.Table:
    """The rows in which a column of numbers holds a value within the spans."""
    wanted = tuple(spans)
    found = files(path, column, wanted)
    if not found:
        return pa.table({})
    within = pc.scalar(False)
    for begin, end in wanted:
        within |= (pc.field(column) >= begin) & (pc.field(column) < end)
    return ds.dataset(found, format="parquet").to_table(filter=within)


def matching(there: list[str], keys: pa.Table) -> pa.Table:
    """The rows of Parquet files that have the values of one of the keys; in a key, a null is a value like any other."""
    same = " AND ".join(f"there.{name} IS NOT DISTINCT FROM keys.{name}" for name in keys.column_names)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("keys", keys)
        query = f"SELECT there.* FROM {parquet_rows('$there')} AS there SEMI JOIN keys ON {same}"
        return connection.sql(query, params={"there": there}).to_arrow_table()


def columns(files: list[str], names: Sequence[str]) -> pa.Table:
    """Some columns of Parquet files."""
    if not files:
        return pa.table({name: [] for name in names})
    return ds.dataset(files, format="parquet").to_table(columns=list(names))


def greatest(path: str, column: str) -> int | None:
    """The greatest value of a column of numbers in those files whose statistics know theirs; None when none does."""
    actions = _add_actions(path)
    if f"max.{column}" not in actions.column_names:
        return None
    value: int | None = pc.max(actions[f"max.{column}"]).as_py()
    return value


def files(path: str, column: str | None = None, spans: Spans = (), version: int | None = None) -> list[str]:
    """Paths of the files of a version, the newest when none is given; with a column, at least those that hold values
    within the spans.
    """
    actions = _add_actions(path, version)
    names = [f"{path}/{unquote(name)}" for name in actions["path"].to_pylist()]
    if column is None or f"min.{column}" not in actions.column_names:
        return names
    bounds = (actions[f"{bound}.{column}"].cast(pa.int64()).to_pylist() for bound in ("min", "max"))
    wanted = tuple(spans)
    return [
        name
        for name, low, high in zip(names, *bounds, strict=True)
        if low is None or high is None or any(low < end and high + COARSE >= begin for begin, end in wanted)
    ]


def _add_actions(path: str, version: int | None = None) -> pa.Table:
    """What the log says of each file of the version, its statistics as `min.<column>` and `max.<column>`."""
    return pa.table(opened(path, version).get_add_actions(flatten=True))


def append(path: str, rows: pa.Table, table: Table, transaction: Transaction) -> None:
    """Adds the rows, once per transaction."""
    target = opened(path)
    if not _is_written(target, transaction):
        with _refusals(table):
            write_deltalake(target, rows, mode="append", commit_properties=_commit(transaction))


def take_over(path: str, source: str, version: int, transaction: Transaction) -> None:
    """Puts the rows of another table of the same record, at a version of it, in place of all there are, in one commit,
    once per transaction. No row is copied: the files get a second name, by a hard link. Files that both tables have, by
    the same name, stay.

    A table that is append-only is not from here until `end_take_over`; neither of the two commits touches a row.
    """
    if _is_written(target := opened(path), transaction):
        return
    there, wanted = {file["path"]: file for file in _files(target)}, _files(opened(source, version))
    stay = there.keys() & {file["path"] for file in wanted}
    now = int(time.time() * 1000)
    actions: list[AddAction | RemoveAction] = [
        *(_linked(path, source, file) for file in wanted if file["path"] not in stay),
        *(RemoveAction(name, True, now, there[name]["size_bytes"], {}) for name in sorted(there.keys() - stay)),
    ]
    _set_append_only(target, is_append_only=False)
    target.create_write_transaction(actions, "append", target.schema(), commit_properties=_commit(transaction))


def end_take_over(path: str, table: Table) -> None:
    """Makes the table append-only again, if it is to be."""
    _set_append_only(opened(path), is_append_only=table.is_append_only)


def restore(path: str, version: int, transaction: Transaction) -> None:
    """Gives the table the rows that it had at a version, in one commit, once per transaction. No row is written: the
    commit names the files of that version. An append-only table is no exception.
    """
    if not _is_written(target := opened(path), transaction):
        target.restore(version, commit_properties=_commit(transaction))


def replace_constraint(path: str, name: str, condition: str) -> None:
    """Puts a condition in place of that of the same name, in two commits that touch no row; each must hold by it."""
    # Each marked as this program's, which looks for what others do to its tables.
    marks = (_commit(Transaction(f"{WIDENED}/{uuid.uuid4()}", 0)) for _ in range(2))
    opened(path).alter.drop_constraint(name, raise_if_not_exists=False, commit_properties=next(marks))
    opened(path).alter.add_constraint({name: condition}, commit_properties=next(marks))


def _set_append_only(table: DeltaTable, *, is_append_only: bool) -> None:
    wanted = {"delta.appendOnly": str(is_append_only).lower()}
    if not wanted.items() <= table.metadata().configuration.items():
        table.alter.set_table_properties(wanted)


def _files(table: DeltaTable) -> list[dict[str, Any]]:
    return rows_of(pa.table(table.get_add_actions()))


def _linked(path: str, source: str, file: dict[str, Any]) -> AddAction:
    name = unquote(file["path"])
    with suppress(FileExistsError):
        os.link(f"{source}/{name}", f"{path}/{name}")
    statistics = {
        "numRecords": file["num_records"],
        "minValues": _known(file.get("min")),
        "maxValues": _known(file.get("max")),
        "nullCount": _known(file.get("null_count")),
    }
    return AddAction(
        file["path"], file["size_bytes"], {}, file["modification_time"], True, json.dumps(statistics, default=_moment)
    )


def _known(statistics: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (statistics or {}).items() if value is not None}


def _moment(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def merge(path: str, rows: pa.Table, table: Table, transaction: Transaction) -> None:
    """Puts the rows in place of those with the same key, once per transaction."""
    _merge(path, rows, table, transaction, TableMerger.when_matched_update_all)


def add(path: str, rows: pa.Table, table: Table, transaction: Transaction) -> None:
    """Adds the rows' measures to those of the row with the same key, once per transaction."""
    sums = {name: f"target.{name} + source.{name}" for name in table.measures}
    _merge(path, rows, table, transaction, lambda merger: merger.when_matched_update(updates=sums))


def _merge(
    path: str,
    rows: pa.Table,
    table: Table,
    transaction: Transaction,
    update_matched: Callable[[TableMerger], TableMerger],
) -> None:
    if not rows.num_rows:  # A merge of none would leave no commit, and so no trace of the transaction.
        append(path, rows, table, transaction)
        return
    target = opened(path)
    if _is_written(target, transaction):
        return
    merger = target.merge(
        rows,
        " AND ".join(_equal(table, name) for name in table.key),
        source_alias="source",
        target_alias="target",
        streamed_exec=False,  # Otherwise it does not look at the rows first, to skip files by their statistics.
        commit_properties=_commit(transaction),
    )
    with _refusals(table):
        update_matched(merger).when_not_matched_insert_all().execute()


@contextmanager
def _refusals(table: Table) -> Iterator[None]:
    """Says what was refused: delta-rs shows the rows and not the condition."""
    try:
        yield
    except DeltaError as error:
        if "failed validation" not in str(error):
            raise
        conditions = "; ".join(f"{name}: {condition}" for name, condition in table.constraints.items())
        raise LakeMismatch(
            f"Table {table.name} refuses rows that break one of its conditions ({conditions}) or lack a column that is "
            f"required. This is a defect: bad input never gets this far. {error}"
        ) from error


def _equal(table: Table, name: str) -> str:
    is_required = next(column.is_required for column in table.columns if column.name == name)
    return f"(target.{name} {'=' if is_required else 'IS NOT DISTINCT FROM'} source.{name})"


def _is_written(table: DeltaTable, transaction: Transaction) -> bool:
    newest = table.transaction_version(transaction.app_id)
    return newest is not None and newest >= transaction.version


def _commit(transaction: Transaction) -> CommitProperties:
    return CommitProperties(app_transactions=[AppTransaction(transaction.app_id, transaction.version)])
