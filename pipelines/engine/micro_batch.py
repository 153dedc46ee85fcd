"""One micro-batch: a range of the log into every table whose time it is, ended by a row in the ledger.

Each write carries a transaction, so a batch that was cut off anywhere is repeated as a whole: what stands is skipped,
what is missing is written. What the batch adds is decided once, in silver; the folds take it from there by its Kafka
coordinates, also on a repeat, and also when they take several batches at once.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime

from duckdb import DuckDBPyConnection as Cursor
from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame

from pipelines.contracts.topics import Topic
from pipelines.contracts.wire import Wire
from pipelines.engine import record_tasks
from pipelines.engine.batch import Batch, Reach, Standing
from pipelines.engine.record_tasks import RecordFlow, Written
from pipelines.engine.schedule import pays
from pipelines.graph import ACCEPTED, FLOWS, Around, Current, Flow, Judged, Known, New, Read, flows_into, tables_of
from pipelines.io.delta import data_files, duck
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Change, Transaction
from pipelines.io.kafka.log import OffsetRange, RecordLog, is_of_a_time, ranges_between, starts, within
from pipelines.session import planned_for
from pipelines.state.ledger import NOTHING_YET, Counts, Ledger, LedgerRow, TableState
from pipelines.tables import Table
from pipelines.transforms.expiry import going_on_from, is_expired
from pipelines.transforms.judge import judged
from pipelines.transforms.windows import MICROSECOND


class MicroBatch:
    """Runs one batch.

    Args:
        batch: What to do.
        standing: Where the tables stand.
        lake: The tables.
        log: The topics.
        wires: How values are written, by topic name.
        flows: What makes the tables.
    """

    def __init__(
        self,
        batch: Batch,
        standing: Standing,
        lake: Lake,
        log: RecordLog,
        wires: Mapping[str, Wire],
        flows: Sequence[Flow] = FLOWS,
    ) -> None:
        self._batch = batch
        self._standing = standing
        self._lake = lake
        self._log = log
        self._wires = wires
        self._flows = flows
        self._deferred: frozenset[str] = frozenset()
        self._written: dict[str, Written] = {}
        self._commits: dict[str, Change] = {}

    def run(self, ledger: Ledger) -> LedgerRow:
        """Writes every table whose time it is, and then the ledger's row, which it returns."""
        self._deferred = frozenset(flow.name for flow in self._flows if self._is_deferred(flow))
        todo = [flow for flow in self._flows if self._tells(flow) or (self._moves(flow) and self._has_input(flow))]
        self._run([flow for flow in todo if flow.turn is None])
        self._run([flow for flow in todo if flow.turn])
        row = LedgerRow(
            batch_id=self._batch.batch_id,
            checkpoint_id=self._batch.checkpoint_id,
            checkpoint_batch_id=self._batch.checkpoint_batch_id,
            started_at=self._batch.started_at,
            committed_at=datetime.now(UTC),
            ranges=self._batch.ranges,
            counts={topic: self._counts(topic) for topic in self._wires},
            tables={table.name: self._state(table) for table in tables_of(self._flows)},
        )
        ledger.append(row, self._batch.transaction("ledger"))
        return row

    def _run(self, flows: list[Flow]) -> None:
        """Runs flows side by side, as far as they do not need each other. Raises the first failure when all ended."""
        if not flows:
            return
        topics = {flow.topic.name: flow.topic for flow in flows if flow.topic}
        in_session = inheritable_thread_target(self._lake.spark)
        reading: dict[str, Future[None]] = {}
        running: dict[str, Future[None]] = {}
        with (
            planned_for(self._lake.spark, max(map(self._input_size, flows))),
            ThreadPoolExecutor(len(topics) + len(flows)) as pool,
        ):
            for name, topic in topics.items():
                of_topic = [flow for flow in flows if flow.topic == topic]
                reading[name] = pool.submit(in_session(self._read), topic, of_topic)
            for flow in flows:
                needed = [running[other.name] for other in flows if other.name in running and flow.needs(other)]
                needed += [reading[flow.topic.name]] if flow.topic else []
                running[flow.name] = pool.submit(self._run_after, needed, flow)
        for future in (*reading.values(), *running.values()):
            future.result()

    def _run_after(self, needed: Iterable[Future[None]], flow: Flow) -> None:
        for future in needed:
            future.result()
        if change := self._commit(flow) if flow.topic else self._fold(flow):
            self._commits[flow.name] = change

    def _moves(self, flow: Flow) -> bool:
        following = self._batch.following
        is_its_turn = bool(following and flow.turn in following.turns) if flow.turn else flow.name not in self._deferred
        return is_its_turn or flow.into.name in self._batch.rebuilds

    def _is_deferred(self, flow: Flow) -> bool:
        """Whether the flow's table waits for a later batch. Not where this batch has written it before it was cut off:
        what it was decided by then may have changed.
        """
        if not flow.is_deferred_when_large or (self._batch.following and self._batch.following.ends_deferral):
            return False
        if pays(self._lake.row_count(flow.into), self._input_size(flow)):
            return False
        return not self._lake.commit_by(flow.into, self._transaction(flow))

    def _tells(self, flow: Flow) -> bool:
        """Whether the batch has something to publish, be the table deferred or not."""
        return flow.publishes is not None and any(self._batch.size(topic.name) for topic in flow.publishes.sources)

    def _reach(self, flow: Flow) -> Reach:
        """Up to where on the log the flow brings its table."""
        following = self._batch.following
        if following and flow.turn in following.turns and flow.into.name not in self._batch.rebuilds:
            return following.up_to
        return self._batch.reach

    def _state(self, table: Table) -> TableState:
        before = self._standing.tables.get(table.name, TableState(version=0, position=NOTHING_YET))
        flows = flows_into(table, self._flows)
        if not all(map(self._moves, flows)):
            return before
        writers = [flow.name for flow in flows] + [_of_archive(flow) for flow in self._flows if flow.archive == table]
        written = [self._commits[name].version for name in writers if name in self._commits]
        return TableState(
            version=max(written, default=before.version),
            position=self._reach(flows[0]).batch_id if flows else self._batch.batch_id,
            expired_before=None if table.name in self._batch.rebuilds else before.expired_before,
        )

    def _has_input(self, flow: Flow) -> bool:
        """A batch often holds records of one topic only, or none that is accepted: nothing to write then."""
        return flow.into.name in self._batch.rebuilds or bool(self._input_size(flow))

    def _input_size(self, flow: Flow) -> int:
        """How many records or new rows the flow is given."""
        topics = (read.topic for read in flow.reads.values() if isinstance(read, Judged | New))
        return sum(part.size for topic in topics for part in self._unfolded(flow, topic))

    def _counts(self, topic: str) -> Counts:
        """Duplicates are what is left of the records read."""
        found = self._written.get(topic)
        if not found:
            return Counts(0, 0, 0, 0)
        accepting = (flow for flow in self._flows if flow.topic and flow.topic.name == topic and flow.into in ACCEPTED)
        accepted = sum(self._commits[flow.name].row_count for flow in accepting if flow.name in self._commits)
        return Counts(
            found.read_count, accepted, found.read_count - accepted - found.rejected_count, found.rejected_count
        )

    def _read(self, topic: Topic, flows: list[Flow]) -> None:
        """Has the records of a topic judged, and files of the flows' tables written, but for what stands already."""
        begin: dict[int, int] = {}
        for part in (part for flow in flows for part in self._unfolded(flow, topic)):
            begin[part.partition] = min(part.start, begin.get(part.partition, part.start))
        wanted = ranges_between({topic.name: begin}, self._batch.reach.offsets)
        ranges = _of(topic, wanted)
        missing = [flow for flow in flows if not self._lake.commit_by(flow.into, self._transaction(flow))]
        try:
            written = self._write(topic, self._log.records(topic.name, ranges), missing)
        except Exception as error:
            if not is_of_a_time(error):
                raise
            written = self._write(topic, self._log.records(topic.name, ranges, by_spark=False), missing)
        self._written[topic.name] = written

    def _write(self, topic: Topic, records: DataFrame, flows: list[Flow]) -> Written:
        return record_tasks.write(
            judged(records, topic, self._wires[topic.name]),
            [self._record_flow(flow) for flow in flows],
            within(_of(topic, self._batch.ranges)),
            self._batch.started_at,
        )

    def _record_flow(self, flow: Flow) -> RecordFlow:
        assert flow.topic is not None
        known = next((name for name, read in flow.reads.items() if isinstance(read, Known)), None)
        return RecordFlow(
            name=flow.name,
            into=flow.into,
            folder=self._lake.path(flow.into),
            by=flow.by,
            where=within(self._unfolded(flow, flow.topic)),
            known=known,
            version=self._lake.version(flow.into),
        )

    def _commit(self, flow: Flow) -> Change | None:
        """Puts the files that tasks have written into the flow's table."""
        assert flow.topic is not None
        files = self._written[flow.topic.name].files.get(flow.name, ())
        return self._lake.commit(flow.into, self._transaction(flow), files)

    def _transaction(self, flow: Flow) -> Transaction:
        return self._batch.turn_transaction(flow.name) if flow.turn else self._batch.transaction(flow.name)

    def _fold(self, flow: Flow) -> Change | None:
        """What the flow's query gives, in its table."""
        is_rebuilt = flow.into.name in self._batch.rebuilds
        if not is_rebuilt and (found := self._lake.commit_by(flow.into, self._transaction(flow))):
            return found
        with closing(duck.cursor()) as cursor:
            for name, read in flow.reads.items():
                cursor.execute(f"CREATE TEMP VIEW {name} AS {self._rows(cursor, flow, read)}")
            cursor.execute(f"CREATE TEMP TABLE changed AS FROM ({flow.by}) WHERE {self._is_kept(flow)}")
            if flow.publishes and self._tells(flow):
                own = (
                    within(_of(topic, self._batch.ranges), prefix) for topic, prefix in flow.publishes.sources.items()
                )
                cursor.execute(f"CREATE TEMP VIEW reports AS FROM changed WHERE {' OR '.join(own)}")
                self._log.send(cursor.sql(flow.publishes.by).to_arrow_table(), flow.publishes.topic.name)
            if not self._moves(flow):
                return None
            if is_rebuilt:
                return self._replace(cursor, flow)
            fold = self._lake.merge if flow.write == "merge" else self._lake.add
            return fold(cursor, "FROM changed", flow.into, self._transaction(flow))

    def _replace(self, cursor: Cursor, flow: Flow) -> Change | None:
        """Under an identity of its own: a batch that was cut off may have written the old table already."""
        anew = Transaction(f"rebuild-{uuid.uuid4()}/{flow.name}", 0)
        made = self._lake.replace(cursor, "FROM changed", flow.into, anew)
        if flow.archive and self._lake.version(flow.archive):  # what it let go is in the table again
            name = _of_archive(flow)
            emptied = Transaction(f"rebuild-{uuid.uuid4()}/{name}", 0)
            nothing = data_files.empty_rows(flow.archive)
            if change := self._lake.replace(cursor, nothing, flow.archive, emptied):
                self._commits[name] = change
        return made

    def _is_kept(self, flow: Flow) -> str:
        """A late scan does not bring back, in part, what was let go as a whole."""
        state = self._standing.tables.get(flow.into.name)
        if flow.into.name in self._batch.rebuilds or flow.archive or not state:
            return "true"
        return f"NOT {is_expired(flow.into.expiry, state.expired_before)}"

    def _rows(self, cursor: Cursor, flow: Flow, read: Read) -> str:
        """A query that gives what the flow reads."""
        match read:
            case New(table, topic):
                if all(part in self._batch.ranges for part in self._unfolded(flow, topic)):
                    writers = (each.name for each in flows_into(table, self._flows))
                    own = [self._commits[name] for name in writers if name in self._commits]
                    return self._lake.added(own, table)
                return self._added(table, self._unfolded(flow, topic))
            case Around(new, margin):
                micros = "min(epoch_us(occurred_at)), max(epoch_us(occurred_at))"
                ((first, last),) = cursor.execute(f"SELECT {micros} FROM ({self._rows(cursor, flow, new)})").fetchall()
                if first is None:
                    return data_files.empty_rows(new.table)
                begin, end = first - margin // MICROSECOND, last + margin // MICROSECOND
                rows = self._lake.rows(new.table, "occurred_at", [(begin, end + 1)])
                until_now = within(_of(new.topic, ranges_between({}, self._reach(flow).offsets)))
                near = f"occurred_at BETWEEN make_timestamptz({begin}) AND make_timestamptz({end})"
                return f"SELECT * FROM ({rows}) WHERE {near} AND ({until_now})"
            case Current(table, archive):
                return self._current(flow, table, archive)
            case Judged() | Known():
                raise AssertionError(f"{flow.name} is run by tasks")

    def _current(self, flow: Flow, table: Table, archive: Table | None) -> str:
        if table != flow.into:
            return self._lake.rows(table)
        if table.name in self._batch.rebuilds:
            return data_files.empty_rows(table)
        if not (archive and self._lake.version(archive)):
            return self._lake.rows(table)
        new = [name for name, read in flow.reads.items() if isinstance(read, New)]
        return going_on_from(self._lake.rows(table), self._lake.rows(archive), table.key, new)

    def _unfolded(self, flow: Flow, topic: Topic) -> tuple[OffsetRange, ...]:
        """What of a topic the flow's table does not hold yet."""
        is_rebuilt = flow.into.name in self._batch.rebuilds
        begin = {} if is_rebuilt or self._standing.tables else starts(self._batch.ranges)  # of a lake's first batch
        reached = {} if is_rebuilt else self._standing.reached.get(flow.into.name, begin)
        return _of(topic, ranges_between(reached, self._reach(flow).offsets))

    def _added(self, table: Table, ranges: tuple[OffsetRange, ...]) -> str:
        """The rows of a table that come from ranges of one topic."""
        spans = [(part.start, part.end) for part in ranges]
        return f"SELECT * FROM ({self._lake.rows(table, 'kafka_offset', spans)}) WHERE {within(ranges)}"


def _of_archive(flow: Flow) -> str:
    """Names the commit to the archive of the flow's table."""
    return f"{flow.name}.archive"


def _of(topic: Topic, ranges: Iterable[OffsetRange]) -> tuple[OffsetRange, ...]:
    return tuple(part for part in ranges if part.topic == topic.name)
