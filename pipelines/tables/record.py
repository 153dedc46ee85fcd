"""What a table is: one frozen record that gives its schema, the check of it, documentation and baseline checks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta


@dataclass(frozen=True)
class Column:
    """A column: name, Spark SQL type, meaning. `is_required` makes it NOT NULL; one that does not follow from the log
    alone is another after each replay.
    """

    name: str
    type: str
    doc: str
    is_required: bool = False
    follows_log: bool = True


@dataclass(frozen=True)
class Expiry:
    """Which rows `pts expire` removes: those whose time lies more than `after` before the newest accepted scan.

    Attributes:
        column: The row's time.
        after: How long rows are kept.
        condition: Only rows for which this holds (Spark SQL).
        rows: The same for a person.
    """

    column: str
    after: timedelta
    rows: str
    condition: str = "true"


@dataclass(frozen=True)
class Table:
    """A Delta table at `$PTS_LAKE/<schema>/<table>`.

    Attributes:
        name: `schema.table`.
        doc: What a row says, in one or two sentences.
        grain: What there is exactly one row for.
        columns: In order.
        key: Columns that identify a row.
        measures: Columns that add up: the rows of two parts of the log, added by key, are the rows of both.
        z_order_by: Columns along which compaction orders the rows (Z-order), so that a merge and a reader's filter skip
            files. An append-only table has none: neighbouring files are joined, and rows of one time stay together.
        statistics: Columns with minima and maxima in the Delta log: those that somebody filters by. Each costs on
            every write.
        constraints: Row-level truths by name, enforced on every write; a condition that is null counts as broken. A
            row that breaks one stops the job: bad input never gets this far, so it is a defect. In words that both
            writers, Spark and delta-rs, know.
        earlier_constraints: What conditions of these names were before: a table that still has one gets today's, if
            every row that holds by the one holds by the other.
        is_append_only: Rows are never changed or removed.
        follows_log: Whether the rows follow from the log, so that a replay makes them again.
        row_time: The column of event time by which a row belongs to an interval, so that `pts backfill` can compute its
            rows again; None for rows that are of no one time.
        expiry: Which rows `pts expire` removes; none when not set.
        owner: Who answers for it.
    """

    name: str
    doc: str
    grain: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    measures: tuple[str, ...] = ()
    z_order_by: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    constraints: Mapping[str, str] = field(default_factory=dict)
    earlier_constraints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_append_only: bool = False
    follows_log: bool = True
    row_time: str | None = None
    expiry: Expiry | None = None
    owner: str = "tracking"

    @property
    def layer(self) -> str:
        """The schema: bronze, silver, gold or ops."""
        return self.name.partition(".")[0]

    @property
    def folder(self) -> str:
        """Where it lies, below the root of its lake."""
        return self.name.replace(".", "/")

    @property
    def column_names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def properties(self) -> dict[str, str]:
        """Delta table properties."""
        properties = {
            "delta.appendOnly": str(self.is_append_only).lower(),
            # For other writers than the job and `pts compact`, which see to it themselves.
            "delta.checkpointInterval": "100",
            "delta.dataSkippingStatsColumns": ",".join(self.statistics or self.key),
        }
        return properties | {f"delta.constraints.{name}": rule for name, rule in self.constraints.items()}


def kafka_coordinates(prefix: str = "") -> tuple[Column, ...]:
    """The columns that say where on the log a row came from."""
    return (
        Column(f"{prefix}kafka_topic", "STRING", "Topic of the record.", is_required=True),
        Column(f"{prefix}kafka_partition", "INT", "Partition of the record.", is_required=True),
        Column(f"{prefix}kafka_offset", "BIGINT", "Offset of the record in its partition.", is_required=True),
        Column(f"{prefix}kafka_timestamp", "TIMESTAMP", "When the producer created the record.", is_required=True),
    )


RECORD_KEY = ("kafka_topic", "kafka_partition", "kafka_offset")
RECORD_STATISTICS = ("kafka_partition", "kafka_offset", "kafka_timestamp")
HEADERS_TYPE = "ARRAY<STRUCT<`key`: STRING, `value`: BINARY>>"
