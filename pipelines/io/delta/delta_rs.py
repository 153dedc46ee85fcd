"""Definitions, commits and looks at Delta tables by delta-rs, for which Spark's cost is nearly all fixed.

What is in the files, DuckDB reads and writes (`io/delta/data_files.py`).
"""

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, Schema
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction

from pipelines.io.delta import duck, writer_term
from pipelines.io.delta.data_files import DataFile
from pipelines.io.delta.delta_table import OpenTable, opened
from pipelines.io.delta.parquet import file_list, parquet_rows
from pipelines.io.delta.signature import signature
from pipelines.io.delta.table_log import WIDENED, Transaction
from pipelines.io.delta.writer_term import TERM
from pipelines.io.storage import access
from pipelines.io.storage.files import files_at
from pipelines.tables import Table
from pipelines.values import rows_of

Spans = Iterable[tuple[int, int]]
"""Half-open ranges of a column's values; of times, in microseconds since the Unix epoch."""

COARSE = 1_000
"""Statistics of times are cut off at the millisecond, so that a file's greatest may be this much greater."""


def exists(path: str) -> bool:
    """Whether there is a Delta table."""
    return DeltaTable.is_deltatable(path, access.of_delta_rs())


def create(path: str, schema_json: str, table: Table) -> None:
    """Makes the table, empty, in one commit; the schema as the Delta protocol writes it."""
    # delta-rs does not conclude it from the properties. Version 3 of the protocol is the first with constraints.
    protocol = {"delta.minWriterVersion": "3"} if table.constraints else {}
    DeltaTable.create(
        path,
        Schema.from_json(schema_json),
        description=table.doc,
        configuration=table.properties | protocol,
        commit_properties=signature(path),
        raise_if_key_not_exists=False,
        storage_options=access.of_delta_rs(),
    )


def definition(path: str) -> tuple[str, dict[str, str]]:
    """The table's schema as the Delta protocol writes it, and its properties."""
    table = opened(path)
    return table.schema().to_json(), table.metadata().configuration


def rows(table: DeltaTable, path: str, column: str, spans: Spans) -> pa.Table:
    """The rows in which a column of numbers holds a value within the spans."""
    wanted = tuple(spans)
    found = files(table, path, column, wanted)
    if not found:
        return pa.table({})
    within = " OR ".join(f"({column} >= {begin} AND {column} < {end})" for begin, end in wanted)
    with closing(duck.cursor()) as cursor:
        return cursor.sql(f"FROM {parquet_rows(file_list(found))} WHERE {within}").to_arrow_table()


def greatest(table: DeltaTable, column: str) -> int | None:
    """The greatest value of a column of numbers in those files whose statistics know theirs; None when none does."""
    actions = _add_actions(table)
    if f"max.{column}" not in actions.column_names:
        return None
    value: int | None = pc.max(actions[f"max.{column}"]).as_py()
    return value


def starts(table: DeltaTable, path: str, column: str) -> dict[str, int]:
    """The smallest value of a column that each file's statistics know, by the file's path; times in microseconds."""
    actions = _add_actions(table)
    if f"min.{column}" not in actions.column_names:
        return {}
    names, lowest = actions["path"].to_pylist(), actions[f"min.{column}"].cast(pa.int64()).to_pylist()
    return {f"{path}/{unquote(name)}": low for name, low in zip(names, lowest, strict=True) if low is not None}


def row_count(table: DeltaTable) -> int:
    """How many rows the table has, as its log says of each file."""
    return int(pc.sum(_add_actions(table)["num_records"]).as_py() or 0)


def sizes(table: DeltaTable, path: str) -> dict[str, int]:
    """How many bytes each file of the table has, by the file's path."""
    actions = _add_actions(table)
    names = (f"{path}/{unquote(name)}" for name in actions["path"].to_pylist())
    return dict(zip(names, actions["size_bytes"].to_pylist(), strict=True))


def size(table: DeltaTable) -> tuple[int, int]:
    """How many files the table has, and how many bytes they are, as its log says of each."""
    actions = _add_actions(table)
    return actions.num_rows, int(pc.sum(actions["size_bytes"]).as_py() or 0)


def files(table: DeltaTable, path: str, column: str | None = None, spans: Spans = ()) -> list[str]:
    """Paths of a table's files, the folder's path before their names; with a column, at least those that hold values
    within the spans.
    """
    actions = _add_actions(table)
    names = list(map(unquote, actions["path"].to_pylist()))
    files_at(path).note_sizes(zip(names, actions["size_bytes"].to_pylist(), strict=True))
    names = [f"{path}/{name}" for name in names]
    if column is None or f"min.{column}" not in actions.column_names:
        return names
    bounds = (actions[f"{bound}.{column}"].cast(pa.int64()).to_pylist() for bound in ("min", "max"))
    wanted = tuple(spans)
    return [
        name
        for name, low, high in zip(names, *bounds, strict=True)
        if low is None or high is None or any(low < end and high + COARSE >= begin for begin, end in wanted)
    ]


def _add_actions(table: DeltaTable) -> pa.Table:
    """What the log says of each file, its statistics as `min.<column>` and `max.<column>`."""
    return pa.table(table.get_add_actions(flatten=True))


def commit(
    table: OpenTable, path: str, added: Sequence[DataFile], removed: Sequence[str], transaction: Transaction
) -> None:
    """Puts files into the table, and takes others out of it by their names, in one commit, once per transaction."""
    writer_term.check(table, path)
    if has(table, transaction):
        return
    with _made_once(table, path, transaction):
        table.commit(_actions(table, path, added, removed, are_other_rows=True), signature(path, transaction))


def replace_files(table: OpenTable, path: str, added: Sequence[DataFile], removed: Sequence[str]) -> None:
    """Puts files with the same rows in place of others, in one commit; in none where one of these is gone meanwhile."""
    writer_term.check(table, path)
    if not _are_there(table, path, removed):
        return
    try:
        actions = _actions(table, path, added, removed, are_other_rows=False)
        table.commit(actions, signature(path, replaced_at=table.version()))
    except CommitFailedError:
        table.update_incremental()
        writer_term.check(table, path)
        if _are_there(table, path, removed):
            raise


def _are_there(table: DeltaTable, path: str, names: Iterable[str]) -> bool:
    return sizes(table, path).keys() >= {f"{path}/{name}" for name in names}


def _actions(
    table: DeltaTable, path: str, added: Sequence[DataFile], removed: Sequence[str], *, are_other_rows: bool
) -> list[AddAction | RemoveAction]:
    now, there = int(time.time() * 1000), sizes(table, path) if removed else {}
    return [
        *(AddAction(file.name, file.byte_count, {}, now, are_other_rows, file.statistics) for file in added),
        *(RemoveAction(name, are_other_rows, now, there[f"{path}/{name}"], {}) for name in removed),
    ]


def begin_term(root: str, tables: Sequence[tuple[OpenTable, str]]) -> None:
    """Begins a term of this process's as the writer of a lake, with a commit to each of its tables, which are given
    with their paths: from here on, no commit of a process that wrote the lake before is taken.
    """
    with ThreadPoolExecutor() as pool:  # each waits for the store
        term = 1 + max(pool.map(lambda each: writer_term.newest_term(each[0]), tables), default=0)
        writer_term.enter(root, term)

        def begin(table: OpenTable, path: str) -> None:
            with _made_once(table, path, Transaction(TERM, term)):
                table.commit([], signature(path))

        for done in [pool.submit(begin, *each) for each in tables]:
            done.result()


@contextmanager
def _made_once(table: DeltaTable, path: str, transaction: Transaction) -> Iterator[None]:
    """A commit that is there already, although it was refused, is made: the store's answer to the first try was lost.

    Raises `AnotherWriter` where it was refused because another process has begun a term.
    """
    try:
        yield
    except CommitFailedError:
        table.update_incremental()
        writer_term.check(table, path)
        if not has(table, transaction):
            raise


def swap_in(path: str, source: str, version: int, transaction: Transaction) -> None:
    """Puts the rows of another table of the same record, at a version of it, in place of all there are, in one commit,
    once per transaction. No row is copied: the files get a second name, by a hard link, in a store by a copy that it
    makes itself. Files that both tables have, by the same name, stay.

    A table that is append-only is not from here until `end_swap_in`; neither of the two commits touches a row.
    """
    writer_term.check(target := opened(path), path)
    if has(target, transaction):
        return
    there, wanted = {file["path"]: file for file in _files(target)}, _files(opened(source, version))
    stay = there.keys() & {file["path"] for file in wanted}
    now = int(time.time() * 1000)
    actions: list[AddAction | RemoveAction] = [
        *(_linked(path, source, file) for file in wanted if file["path"] not in stay),
        *(RemoveAction(name, True, now, there[name]["size_bytes"], {}) for name in sorted(there.keys() - stay)),
    ]
    with _made_once(target, path, transaction):
        set_append_only(target, path, is_append_only=False)
        target.commit(actions, signature(path, transaction, replaced_at=target.version()))


def end_swap_in(path: str, table: Table) -> None:
    """Makes the table append-only again, if it is to be."""
    set_append_only(opened(path), path, is_append_only=table.is_append_only)


def restore(path: str, version: int, transaction: Transaction) -> None:
    """Gives the table the rows that it had at a version, in one commit, once per transaction. No row is written: the
    commit names the files of that version. An append-only table is no exception.
    """
    writer_term.check(target := opened(path), path)
    if not has(target, transaction):
        with _made_once(target, path, transaction):
            target.restore(version, commit_properties=signature(path, transaction, target.version()))


def replace_constraint(path: str, name: str, condition: str) -> None:
    """Puts a condition in place of that of the same name, in two commits that touch no row; each must hold by it."""
    # Each marked as this program's, which looks for what others do to its tables.
    marks = (signature(path, Transaction(f"{WIDENED}/{uuid.uuid4()}", 0)) for _ in range(2))
    opened(path).alter.drop_constraint(name, raise_if_not_exists=False, commit_properties=next(marks))
    opened(path).alter.add_constraint({name: condition}, commit_properties=next(marks))


def set_append_only(table: DeltaTable, path: str, *, is_append_only: bool) -> None:
    """Makes a table append-only, or no more so, in one commit; in none where it is so already."""
    wanted = {"delta.appendOnly": str(is_append_only).lower()}
    if not wanted.items() <= table.metadata().configuration.items():
        table.alter.set_table_properties(wanted, commit_properties=signature(path))


def _files(table: DeltaTable) -> list[dict[str, Any]]:
    return rows_of(pa.table(table.get_add_actions()))


def _linked(path: str, source: str, file: dict[str, Any]) -> AddAction:
    name = unquote(file["path"])
    files_at(path).take(f"{source}/{name}", name)
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


def has(table: DeltaTable, transaction: Transaction) -> bool:
    """Whether a commit of the table carries the transaction, or a later one of the same writer."""
    newest = table.transaction_version(transaction.app_id)
    return newest is not None and newest >= transaction.version
