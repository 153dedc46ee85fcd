"""What the flows of a batch are given: ranges of the log, and the rows of tables as queries of DuckDB's."""

from collections.abc import Iterable, Mapping, Sequence

from duckdb import DuckDBPyConnection as Cursor

from pipelines.contracts.topics import Topic
from pipelines.engine.batch import Batch, LogPosition, TablePositions
from pipelines.graph import Around, Current, Flow, Judged, Known, New, Read, flows_into
from pipelines.io.delta import data_files
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Change
from pipelines.io.kafka.log import OffsetRange, ranges_between, starts, within
from pipelines.tables import Table
from pipelines.transforms.expiry import going_on_from
from pipelines.transforms.windows import MICROSECOND, hours_with_scans


class FlowInputs:
    """What the flows of one batch are given.

    Args:
        batch: What is asked of it.
        positions: Where the tables are before it.
        lake: The tables.
        flows: All of its flows.
        commits: What it has written so far, by flow.
    """

    def __init__(
        self, batch: Batch, positions: TablePositions, lake: Lake, flows: Sequence[Flow], commits: Mapping[str, Change]
    ) -> None:
        self._batch = batch
        self._positions = positions
        self._lake = lake
        self._flows = flows
        self._commits = commits

    def is_rebuilt(self, flow: Flow) -> bool:
        """Whether the flow's table is rebuilt: from all that there is."""
        return flow.into.name in self._batch.rebuilds

    def up_to(self, flow: Flow) -> LogPosition:
        """Up to where on the log the flow brings its table."""
        catch_up = self._batch.catch_up
        if catch_up and flow.catch_up_group in catch_up.groups and not self.is_rebuilt(flow):
            return catch_up.up_to
        return self._batch.end_position

    def estimated_rows(self, flow: Flow) -> int:
        """How many records or new rows the flow is given at most: of offsets, some may be no record. 0 when there is
        none.
        """
        topics = (read.topic for read in flow.reads.values() if isinstance(read, Judged | New))
        return sum(part.size for topic in topics for part in self.unfolded(flow, topic))

    def rows(self, cursor: Cursor, flow: Flow, read: Read) -> str:
        """A query that gives what the flow reads."""
        match read:
            case New(table, topic):
                if all(part in self._batch.ranges for part in self.unfolded(flow, topic)):
                    writers = (each.name for each in flows_into(table, self._flows))
                    own = [self._commits[name] for name in writers if name in self._commits]
                    return self._lake.added(own, table)
                return self._added(table, self.unfolded(flow, topic))
            case Around(new, margin, where):
                hours = hours_with_scans(cursor, f"FROM ({self.rows(cursor, flow, new)}) WHERE {where}")
                if not hours:
                    return data_files.empty_rows(new.table)
                reach = margin // MICROSECOND
                spans = [(begin - reach, end + reach) for begin, end in hours]
                edges = ((f"make_timestamptz({begin})", f"make_timestamptz({end})") for begin, end in spans)
                near = " OR ".join(f"occurred_at BETWEEN {begin} AND {end}" for begin, end in edges)
                until_now = within(of_topic(new.topic, ranges_between({}, self.up_to(flow).offsets)))
                rows = self._lake.rows(new.table, "occurred_at", spans)
                return f"SELECT * FROM ({rows}) WHERE ({near}) AND ({until_now})"
            case Current(table, archive):
                return self._current(flow, table, archive)
            case Judged() | Known():
                raise AssertionError(f"{flow.name} is run by tasks")

    def _current(self, flow: Flow, table: Table, archive: Table | None) -> str:
        if table != flow.into:
            return self._lake.rows(table)
        if self.is_rebuilt(flow):
            return data_files.empty_rows(table)
        if not (archive and self._lake.commits.version(archive)):
            return self._lake.rows(table)
        new = [name for name, read in flow.reads.items() if isinstance(read, New)]
        return going_on_from(self._lake.rows(table), self._lake.rows(archive), table.key, new)

    def keys_of_batch(self, flow: Flow) -> str:
        """A query that gives the keys of the flow's table for which the batch itself has new rows."""
        key = ", ".join(flow.into.key)
        new = (read for read in flow.reads.values() if isinstance(read, New))
        added = (self._added(read.table, of_topic(read.topic, self._batch.ranges)) for read in new)
        return " UNION ".join(f"SELECT {key} FROM ({rows})" for rows in added)

    def unfolded(self, flow: Flow, topic: Topic) -> tuple[OffsetRange, ...]:
        """The ranges of a topic whose records the flow's table does not hold yet."""
        is_rebuilt = self.is_rebuilt(flow)
        begin = {} if is_rebuilt or self._positions.tables else starts(self._batch.ranges)  # of a lake's first batch
        reached = {} if is_rebuilt else self._positions.reached.get(flow.into.name, begin)
        return of_topic(topic, ranges_between(reached, self.up_to(flow).offsets))

    def _added(self, table: Table, ranges: tuple[OffsetRange, ...]) -> str:
        """The rows of a table that come from ranges of one topic."""
        spans = [(part.start, part.end) for part in ranges]
        return f"SELECT * FROM ({self._lake.rows(table, 'kafka_offset', spans)}) WHERE {within(ranges)}"


def of_topic(topic: Topic, ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    """The ranges of one topic."""
    return tuple(part for part in ranges if part.topic == topic.name)
