"""Where the Delta tables under one root are, and how each is created and checked: no other code knows their paths."""

import json
from collections.abc import Mapping

from pyspark.sql import types as T

from pipelines.errors import InvalidInput, LakeMismatch
from pipelines.io.delta import delta_rs, duck
from pipelines.io.delta.definition import differences, outgrown_constraints, schema_of
from pipelines.io.delta.delta_table import MISREAD_PATH, OpenTable, Tables
from pipelines.io.delta.table_log import TableLog
from pipelines.io.storage.files import files_at
from pipelines.tables import Table


class Catalog:
    """The tables under one root, a folder or a URI of an object store.

    Raises `InvalidInput` for a root that some reader or writer would misread.
    """

    def __init__(self, root: str) -> None:
        if MISREAD_PATH.search(root):
            raise InvalidInput(
                f"The lake's path {root} is not one that all readers and writers take as it is: a name without "
                "[ ] * ? ^ | \\ and %xx is needed. Set PTS_LAKE to another place."
            )
        duck.reach(root)
        self.root = root
        self._tables = Tables()

    def path(self, table: Table) -> str:
        return f"{self.root}/{table.folder}"

    def ensure(self, table: Table) -> None:
        """Creates the table from its record, or checks that what is there is the same; a condition that was replaced by
        a wider one since, it replaces there.

        Raises `LakeMismatch` with every difference when it is not: nothing is changed then.
        """
        if not self.exists(table):
            self._create(table)
            return
        definition = self._definition(table)
        outgrown = outgrown_constraints(table, definition[1])
        for name, condition in outgrown.items():
            delta_rs.replace_constraint(self.path(table), name, condition)
        if found := list(differences(table, *(self._definition(table) if outgrown else definition))):
            raise LakeMismatch(
                f"Table {table.name} at {self.path(table)} is not the one this code writes: {'; '.join(found)}. "
                "Run the code that wrote it, or point PTS_LAKE at a new place: the job builds the lake again."
                + (f" Or delete this folder alone: `pts rebuild {table.name}` makes it from silver." * is_gold(table))
            )

    def _create(self, table: Table) -> None:
        path = self.path(table)
        if foreign := self.file_names(table) - {"_delta_log"}:
            raise LakeMismatch(
                f"Table {table.name} cannot be created at {path}: there are other files, for example {min(foreign)}."
            )
        delta_rs.create(path, schema_of(table, with_comments=True).json(), table)

    def _definition(self, table: Table) -> tuple[T.StructType, Mapping[str, str]]:
        """The table's schema and properties."""
        schema, properties = delta_rs.definition(self.path(table))
        return T.StructType.fromJson(json.loads(schema)), properties

    def exists(self, table: Table) -> bool:
        return delta_rs.exists(self.path(table))

    def log(self, table: Table) -> TableLog:
        return TableLog(self.path(table))

    def newest(self, table: Table) -> OpenTable:
        """The table, opened, at its newest version. Raises `LakeMismatch` when its log cannot be read."""
        return self._tables.newest(self.path(table))

    def file_names(self, table: Table) -> set[str]:
        """What is in its folder; nothing when there is none."""
        return {entry.name for entry in files_at(self.path(table)).entries()}


def is_gold(table: Table) -> bool:
    """Whether the table follows from silver."""
    return table.layer == "gold"


def remedy(*tables: Table) -> str:
    """What to do about tables that do not hold what the job wrote."""
    if all(map(is_gold, tables)):
        names = " ".join(table.name for table in tables)
        return f"`pts rebuild {names}` rebuilds {'it' if len(tables) == 1 else 'them'} from silver."
    return "Restore the lake from a backup, or rebuild it from the log (docs/runbook.md, 'A table was changed')."
