"""The lake as SQL tables without a JVM: delta-rs says which files and columns a table has, DuckDB reads them.

DuckDB's own Parquet reader scans the files: it skips row groups, decodes only the columns asked for, and is 2 to 12
times as fast as the Arrow dataset of delta-rs, most of all over many small files. It knows no Delta, so what makes a
table more than its active files is handled here (columns that old files lack) or refused (`_refuse_unreadable`).
Partitioned tables, whose files lack the partition columns, are read through the Arrow dataset.
"""

import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from textwrap import shorten

import duckdb
import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from pipelines.errors import InvalidInput, LakeMismatch, LakeUnavailable, NotFound, first_sentence
from pipelines.io.delta import delta_rs, duck
from pipelines.io.delta.delta_table import MISREAD_PATH
from pipelines.io.delta.parquet import file_list, identifier, parquet_rows
from pipelines.io.duckdb import unsealing
from pipelines.io.duckdb.read_only import check_is_query
from pipelines.io.keys.clearance import MASKED, Clearance
from pipelines.io.storage import access
from pipelines.io.storage.files import files_at
from pipelines.tables import OPS_BATCHES, SCHEMAS

READABLE_FEATURES = frozenset({"timestampNtz"})
"""Reader features of the Delta protocol that change neither which rows of a file count nor its columns' names."""

EMPTY_LOG = "No files in log segment"
"""How delta-rs says that a table's log is there and has no commit."""

Shown = Callable[[str, Collection[str]], str]
"""From a query for rows and the names of their columns, the query for what is shown of them."""

UNKNOWN_TABLE = re.compile(r'Table with name "?([^"\s]+)"? does not exist')


@dataclass(frozen=True)
class Rows:
    """A query of DuckDB's for rows of a table, the files that it opens, and the table's version."""

    query: str
    files: Sequence[str]
    version: int


@dataclass(frozen=True)
class Completion:
    """What stands for a table, made of what is stored of it and of other tables.

    Attributes:
        by: From the query that gives the stored rows, that which gives all.
        files: Those that it opens besides.
    """

    by: Callable[[str], str]
    files: Sequence[str]


class LakeReader:
    """Reads the tables under one root, each at its newest version unless told otherwise.

    Args:
        root: Folder or URI of the lake.
        versions: Delta version by table name (`schema.table`), for reading several tables at one position of the log.
        until_batch: Shows the lake as it was after that batch: no table but those in `versions`, and of the ledger the
            rows up to the batch.
        completion_of: By a table's name: what stands for it, if it is not what is stored.
    """

    def __init__(
        self,
        root: str,
        versions: Mapping[str, int] | None = None,
        until_batch: int | None = None,
        completion_of: Callable[[str], Completion | None] = lambda _: None,
    ) -> None:
        self.root = root
        self._completion_of = completion_of
        self._versions = versions or {}
        self._until_batch = until_batch
        duck.reach(root)
        if found := MISREAD_PATH.search(root):
            raise InvalidInput(
                f"The lake's path {root} contains {found[0]!r}, which delta-rs or DuckDB misread: choose another path."
            )

    def table_names(self) -> list[str]:
        """Every `schema.table`: the folders with a Delta log below those of the schemas. What else lies in the root, as
        `lost+found`, is not looked into.

        Raises `NotFound` when there is none, `LakeUnavailable` when the lake cannot be listed.
        """
        files = files_at(self.root)
        try:
            folders = [(schema, entry.name) for schema in SCHEMAS for entry in files.entries(schema) if entry.is_folder]
            names = sorted(
                f"{schema}.{name}" for schema, name in folders if files.entries(f"{schema}/{name}/_delta_log")
            )
        except OSError as error:
            raise LakeUnavailable(f"The lake at {self.root} cannot be listed: {error.strerror}.") from error
        if not names:
            raise NotFound(f"There are no tables at {self.root} yet: `pts stream` creates them.")
        return names if self._until_batch is None else [name for name in names if self._is_visible(name)]

    def tables_in(self, sql: str) -> list[str]:
        """The tables whose schema and name both occur in the text; all, when none does."""
        known, text = self.table_names(), sql.lower()
        return [name for name in known if all(part.lower() in text for part in name.split("."))] or known

    def path(self, name: str) -> str:
        """Where the table `schema.table` is."""
        return f"{self.root}/{name.replace('.', '/')}"

    def open(self, name: str) -> DeltaTable:
        """The Delta table `schema.table`.

        Raises `NotFound` when it has no version yet, or not that one, or no longer; `LakeMismatch` when its log cannot
        be read, or asks for more than the readers here can do.
        """
        version = self._versions.get(name)
        try:
            table = DeltaTable(self.path(name), version=version, storage_options=access.of_delta_rs())
        except DeltaError as error:
            reason = shorten(first_sentence(error), 160, placeholder=" …")
            if EMPTY_LOG in reason:
                raise NotFound(f"Table {name} of {self.root} has no version yet: it is being created.") from error
            if version is None:
                raise LakeMismatch(
                    f"Table {name} of {self.root} cannot be read: {reason} (docs/runbook.md, 'A table was changed')."
                ) from error
            raise NotFound(
                f"{self._described(name)} cannot be read: its log does not hold that version, or no longer ({reason})."
            ) from error
        except OSError as error:
            raise LakeUnavailable(f"Table {name} of {self.root} cannot be read: {first_sentence(error)}.") from error
        _refuse_unreadable(name, table)
        return table

    def check_files(self, name: str) -> None:
        """Raises `NotFound` when a data file of the table is gone: a vacuum leaves old versions so."""
        named = delta_rs.files(self.open(name), self.path(name))
        there = {entry.name for entry in files_at(self.path(name)).entries()}
        if lost := sum(path.rpartition("/")[2] not in there for path in named):
            raise NotFound(
                f"{self._described(name)} can no longer be read: {lost} of its {len(named)} data files are gone, as a "
                "vacuum leaves an old version."
            )

    @contextmanager
    def opened(self, names: Iterable[str]) -> Iterator[duckdb.DuckDBPyConnection]:
        """This process's DuckDB with a view `schema.table` for each name, for this code's own queries: it can reach
        whatever the process can.

        Timestamps are TIMESTAMP WITH TIME ZONE in UTC, whatever the machine's zone.

        Raises `NotFound` when a version is no longer whole, `LakeUnavailable` when a file cannot be read.
        """
        listed = list(names)
        catalog = identifier(f"lake-{uuid.uuid4().hex}")
        with closing(duck.cursor()) as connection:
            connection.execute(f"ATTACH ':memory:' AS {catalog}")
            connection.execute(f"USE {catalog}")
            try:
                for name in listed:
                    self._add_view(connection, name)
                yield connection
            except duckdb.Error as error:
                if not _is_of_files(error):
                    raise
                raise self._unreadable(listed, error) from error
            finally:
                connection.execute("USE memory")
                connection.execute(f"DETACH {catalog}")

    def closed(self, names: Sequence[str], clearance: Clearance = MASKED) -> duckdb.DuckDBPyConnection:
        """A DuckDB of its own with the same views, for anybody's queries: they show what is sealed as the clearance
        does. All it reaches outside are those tables' files, as they are at the version that is read, and a folder of
        its own for what it has no memory for; none where it shows in clear, which is in no file.
        """
        connection = duckdb.connect(
            config={
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "temp_directory": "" if clearance.opens else duck.spill_folder(),
            }
        )
        connection.execute("SET TimeZone = 'UTC'")
        duck.reach_stores(connection)
        unsealing.add_functions(connection, clearance)
        files = [file for name in names for file in self._add_view(connection, name, unsealing.shown)]
        for name in names:  # what `SHOW TABLES` lists, which knows one schema
            connection.execute(f"CREATE TEMP VIEW {identifier(name)} AS FROM {_qualified(name)}")
        connection.execute(f"SET allowed_paths = {file_list(files)}")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        return connection

    def query(self, sql: str, parameters: Sequence[object] = ()) -> pa.Table:
        """The rows of one query of this code's own. Opens the tables that it names (`tables_in`).

        Raises what `answer` raises.
        """
        with self.opened_for(sql) as connection:
            return connection.sql(sql, params=list(parameters)).to_arrow_table()

    @contextmanager
    def opened_for(self, sql: str) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection for several queries, with views of the tables that the text names. Raises as `query`."""
        names = self.tables_in(sql)
        with self._explained(names), self.opened(names) as connection:
            yield connection

    @contextmanager
    def held(self, names: Iterable[str]) -> Iterator["LakeReader"]:
        """A reader of those of these tables that there are, each opened once for all its queries.

        Raises what `opened` and `table_names` raise.
        """
        there = [name for name in self.table_names() if name in set(names)]
        with self.opened(there) as connection:
            yield _Held(self, there, connection)

    def answer(self, sql: str, clearance: Clearance = MASKED) -> pa.Table:
        """The rows of one query of anybody's, with what is sealed as the clearance shows it.

        Raises `InvalidInput` for anything but a query and for one that DuckDB rejects, `NotFound` for an unknown table
        and for a version that is no longer whole.
        """
        check_is_query(sql)
        names = self.tables_in(sql)
        with self._explained(names), self.closed(names, clearance) as connection:
            return connection.sql(sql).to_arrow_table()

    @contextmanager
    def _explained(self, names: Sequence[str]) -> Iterator[None]:
        """Raises DuckDB's errors as what they mean."""
        try:
            yield
        except duckdb.Error as error:
            unreadable = self._unreadable(names, error)
            if _is_of_files(error):
                raise unreadable from error
            if unknown := UNKNOWN_TABLE.search(str(error)):
                there = ", ".join(self.table_names())
                raise NotFound(f"There is no table {unknown[1]} at {self.root}; there are {there}.") from error
            raise InvalidInput(f"DuckDB rejects the query: {first_sentence(error)}.") from error

    def _unreadable(self, names: Sequence[str], error: duckdb.Error) -> LakeUnavailable:
        """What it means that files of the tables cannot be read. Raises `NotFound` when they are gone."""
        for name in names:
            if name in self._versions:
                self.check_files(name)
        return LakeUnavailable(f"The lake at {self.root} cannot be read: {first_sentence(error)}.")

    def rows(self, name: str, column: str | None = None, spans: delta_rs.Spans = ()) -> Rows:
        """The rows of a table in a folder; with a column, at least those that hold a value of it within the spans."""
        table = self.open(name)
        files = delta_rs.files(table, self.path(name), column, spans)
        with closing(duck.cursor()) as connection:
            return Rows(_parquet_query(connection, table, files), files, table.version())

    def _add_view(
        self, connection: duckdb.DuckDBPyConnection, name: str, shown: Shown = unsealing.as_stored
    ) -> list[str]:
        """A view in the table's schema, of what is shown of its rows. Returns the files that DuckDB opens for it."""
        table, files = self.open(name), list[str]()
        columns = [column.name for column in table.schema().fields]
        until = self._until_batch if name == OPS_BATCHES.name else None
        if not table.metadata().partition_columns:
            files = delta_rs.files(table, self.path(name))
            query = _parquet_query(connection, table, files)
            if completion := self._completion_of(name):
                query, files = completion.by(query), [*files, *completion.files]
            if until is not None:
                query = f"FROM ({query}) WHERE batch_id <= {until}"
        else:
            from pyarrow.dataset import field

            dataset, stored = table.to_pyarrow_dataset(), f"{name}, as it is stored"
            connection.register(stored, dataset if until is None else dataset.filter(field("batch_id") <= until))
            query = f"FROM {identifier(stored)}"
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {identifier(name.partition('.')[0])}")
        connection.execute(f"CREATE VIEW {_qualified(name)} AS {shown(query, columns)}")
        return files

    def _is_visible(self, name: str) -> bool:
        return name in self._versions or name == OPS_BATCHES.name

    def _described(self, name: str) -> str:
        """The table, with what is known of the moment that is asked for."""
        at = f" at version {self._versions[name]}" if name in self._versions else ""
        after = "" if self._until_batch is None else f" (batch {self._until_batch})"
        return f"Table {name}{at}{after} of {self.root}"


def _qualified(name: str) -> str:
    """A table's schema and name as SQL."""
    schema, _, short = name.partition(".")
    return f"{identifier(schema)}.{identifier(short)}"


def _is_of_files(error: duckdb.Error) -> bool:
    """Whether DuckDB could not read files; those of a store it reads through Python, whose error it quotes."""
    return isinstance(error, duckdb.IOException) or "Generic S3 error" in str(error)


class _Held(LakeReader):
    """Asks views that are there already."""

    def __init__(self, of: LakeReader, names: Sequence[str], connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__(of.root, of._versions, of._until_batch)
        self._names = names
        self._connection = connection

    def table_names(self) -> list[str]:
        return list(self._names)

    @contextmanager
    def opened_for(self, sql: str) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._explained(self.tables_in(sql)):
            yield self._connection


def _refuse_unreadable(name: str, table: DeltaTable) -> None:
    """A table that needs more than reading its active files would give wrong rows, so it gives none."""
    protocol = table.protocol()
    unknown = sorted(set(protocol.reader_features or []) - READABLE_FEATURES)
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        unknown.append("columnMapping")
    if unknown or protocol.min_reader_version > 3:
        what = ", ".join(unknown) or f"reader version {protocol.min_reader_version}"
        raise LakeMismatch(
            f"Table {name} uses {what} of the Delta protocol, which this reader does not support: use `--engine spark`."
        )


def _parquet_query(connection: duckdb.DuckDBPyConnection, table: DeltaTable, files: Sequence[str]) -> str:
    """The rows of the table's active files, with exactly the columns and types of its schema.

    A column added later is missing from older files, and a table may have no file at all: the first, empty half of the
    union supplies the columns.
    """
    empty = connection.from_arrow(pa.schema(table.schema().to_arrow()).empty_table())
    columns = (f"NULL::{type_} AS {identifier(name)}" for name, type_ in zip(empty.columns, empty.types, strict=True))
    query = f"SELECT {', '.join(columns)} WHERE false"
    if files:
        query += f" UNION ALL BY NAME FROM {parquet_rows(file_list(files), union_by_name=True)}"
    return query
