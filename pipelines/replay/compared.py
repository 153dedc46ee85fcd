"""What a comparison of live and shadow found, as data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Sample:
    """A row that differs.

    Attributes:
        kind: `missing` in live, `extra` in live, or `changed`.
        key: Its key.
        live, shadow: By column: the values that differ, as text; all values of a row that one of the two lacks.
    """

    kind: str
    key: Mapping[str, Any]
    live: Mapping[str, Any]
    shadow: Mapping[str, Any]


@dataclass(frozen=True)
class TableCompared:
    """One table, live against shadow.

    Attributes:
        table: Its name.
        live_version, shadow_version: The Delta versions that were read.
        live_rows, shadow_rows: How many rows they have.
        live_checksum, shadow_checksum: Sums of the rows' hashes, in hexadecimal: the same rows have the same sum, in
            whatever order. Without columns that do not follow from the log.
        missing: Rows that only the shadow has.
        extra: Rows that only live has; the second of two equal rows, too.
        changed: Rows with the same key and another value.
        columns: By column, how many of the changed rows differ in it.
        undeclared: Rows of all these that nobody declared.
        samples: Up to 20 of each kind.
    """

    table: str
    live_version: int
    shadow_version: int
    live_rows: int
    shadow_rows: int
    live_checksum: str
    shadow_checksum: str
    missing: int
    extra: int
    changed: int
    columns: Mapping[str, int]
    undeclared: int
    samples: tuple[Sample, ...]

    @property
    def differing(self) -> int:
        return self.missing + self.extra + self.changed


@dataclass(frozen=True)
class Compared:
    """A whole replay, live against shadow.

    Attributes:
        replay_id: The replay.
        fence: The batch of the live ledger at which they were cut.
        compared_at: When.
        declared: The differences that were declared.
        tables: What was found, by table.
        page: The HTML page that shows it; None when it was dropped with the replay.
    """

    replay_id: str
    fence: int
    compared_at: datetime
    declared: tuple[str, ...]
    tables: tuple[TableCompared, ...]
    page: str | None

    @property
    def undeclared(self) -> int:
        return sum(table.undeclared for table in self.tables)

    @property
    def differing(self) -> int:
        return sum(table.differing for table in self.tables)

    @property
    def verdict(self) -> str:
        if not self.differing:
            return "identical"
        if not self.undeclared:
            return f"{self.differing:,} rows differ, all of them as declared"
        return f"{self.differing:,} rows differ, {self.undeclared:,} of them were not declared"

    def as_json(self) -> dict[str, Any]:
        """JSON-ready but for dates, which are text. Samples of rows are on the page alone: this goes into logs."""
        tables = [{name: value for name, value in asdict(table).items() if name != "samples"} for table in self.tables]
        return {**asdict(self), "tables": tables, "compared_at": self.compared_at.isoformat(), "verdict": self.verdict}
