"""One micro-batch: a range of the log into every table that is due, ended by a row in the ledger.

Each write carries a transaction, so a batch that was cut off anywhere is repeated as a whole: what stands is skipped,
what is missing is written. What the batch adds is decided once, in silver; the folds take it from there by its Kafka
coordinates, also on a repeat, and also when they take several batches at once.
"""

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from duckdb import DuckDBPyConnection as Cursor
from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame

from pipelines.contracts.topics import Topic
from pipelines.contracts.wire import Wire
from pipelines.engine import record_tasks
from pipelines.engine.batch import Batch, TablePositions
from pipelines.engine.flow_inputs import FlowInputs, of_topic
from pipelines.engine.record_tasks import RecordFlow, Written
from pipelines.engine.schedule import pays
from pipelines.graph import ACCEPTED, FLOWS, Flow, Known, New, flows_into, tables_of
from pipelines.io.delta import data_files, duck
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Change, Transaction
from pipelines.io.kafka.log import OffsetRange, RecordLog, is_of_a_time, ranges_between, within
from pipelines.state.ledger import NOTHING_YET, Counts, Ledger, LedgerRow, TableState
from pipelines.tables import Table
from pipelines.transforms.expiry import is_expired


class MicroBatch:
    """Runs one batch.

    Args:
        batch: What to do.
        positions: Where the tables are.
        lake: The tables.
        log: The topics.
        wires: How values are written, by topic name.
        flows: What makes the tables.

    Attributes:
        seconds: How long each phase of the run took, by the names of `metrics.PHASES`.
    """

    def __init__(
        self,
        batch: Batch,
        positions: TablePositions,
        lake: Lake,
        log: RecordLog,
        wires: Mapping[str, Wire],
        flows: Sequence[Flow] = FLOWS,
    ) -> None:
        self._batch = batch
        self._positions = positions
        self._lake = lake
        self._log = log
        self._wires = wires
        self._flows = flows
        self.seconds: dict[str, float] = {}
        self._deferred: frozenset[str] = frozenset()
        self._written: dict[str, Written] = {}
        self._commits: dict[str, Change] = {}
        self._inputs = FlowInputs(batch, positions, lake, flows, self._commits)

    def run(self, ledger: Ledger) -> LedgerRow:
        """Writes every table that is due, and then the ledger's row, which it returns."""
        with self._timed("records"):
            self._deferred = frozenset(flow.name for flow in self._flows if self._is_deferred(flow))
            todo = [flow for flow in self._flows if self._tells(flow) or (self._moves(flow) and self._is_given(flow))]
            self._run([flow for flow in todo if flow.catch_up_group is None])
        with self._timed("catch_up"):
            self._run([flow for flow in todo if flow.catch_up_group])
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
        with self._timed("ledger"):
            ledger.append(row, self._batch.transaction("ledger"))
        return row

    def rehearse(self) -> None:
        """Has the records judged, and keeps nothing of it: what the next batch needs of Java's code, of executors and
        their Python is warm then. Nothing is done where a table is missing.
        """
        flows = [flow for flow in self._flows if flow.topic]
        if not all(self._lake.exists(flow.into) for flow in flows):
            return
        for topic in {flow.topic for flow in flows if flow.topic and self._batch.size(flow.topic.name)}:
            # Another process writes the tables meanwhile: their newest versions, without a word on who made them.
            its_flows = [(flow, self._lake.newest(flow.into).version()) for flow in flows if flow.topic == topic]
            none_of_them = [replace(self._record_flow(*each), where="false") for each in its_flows]
            self._judge(topic, self._batch.ranges, none_of_them)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[phase] = time.monotonic() - began

    def _run(self, flows: list[Flow]) -> None:
        """Runs flows side by side, as far as they do not need each other. Raises the first failure when all ended."""
        if not flows:
            return
        topics = {flow.topic.name: flow.topic for flow in flows if flow.topic}
        of_topics = [[flow for flow in flows if flow.topic == topic] for topic in topics.values()]
        in_session = inheritable_thread_target(self._lake.spark)
        reading: dict[str, Future[None]] = {}
        running: dict[str, Future[None]] = {}
        with ThreadPoolExecutor(len(topics) + len(flows)) as pool:
            # Of all topics before the first commit: to who looks at a table that two of them share, a commit that is
            # made meanwhile would be a stranger's.
            missing = list(pool.map(self._missing, of_topics))
            for (name, topic), *its_flows in zip(topics.items(), of_topics, missing, strict=True):
                reading[name] = pool.submit(in_session(self._read), topic, *its_flows)
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
        catch_up = self._batch.catch_up
        is_due = (
            bool(catch_up and flow.catch_up_group in catch_up.groups)
            if flow.catch_up_group
            else flow.name not in self._deferred
        )
        return is_due or self._inputs.is_rebuilt(flow)

    def _is_deferred(self, flow: Flow) -> bool:
        """Whether the flow's table waits for a later batch. Not where this batch has written it before it was cut off:
        what it was decided by then may have changed.
        """
        if not flow.is_deferred_when_large or (self._batch.catch_up and self._batch.catch_up.ends_deferral):
            return False
        if pays(self._lake.row_count(flow.into), self._inputs.estimated_rows(flow)):
            return False
        return not self._lake.commits.by(flow.into, self._transaction(flow))

    def _tells(self, flow: Flow) -> bool:
        """Whether the batch has something to publish, be the table deferred or not."""
        return flow.publishes is not None and any(self._batch.size(topic.name) for topic in flow.publishes.sources)

    def _state(self, table: Table) -> TableState:
        before = self._positions.tables.get(table.name, TableState(version=0, position=NOTHING_YET))
        flows = flows_into(table, self._flows)
        if not all(map(self._moves, flows)):
            return before
        writers = [flow.name for flow in flows] + [_of_archive(flow) for flow in self._flows if flow.archive == table]
        written = [self._commits[name].version for name in writers if name in self._commits]
        return TableState(
            version=max(written, default=before.version),
            position=self._inputs.up_to(flows[0]).batch_id if flows else self._batch.batch_id,
            expired_before=None if table.name in self._batch.rebuilds else before.expired_before,
        )

    def _is_given(self, flow: Flow) -> bool:
        """A batch often holds records of one topic only, or none that is accepted: nothing to write then."""
        return self._inputs.is_rebuilt(flow) or bool(self._inputs.estimated_rows(flow))

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

    def _missing(self, flows: list[Flow]) -> list[RecordFlow]:
        """Those of the flows whose tables do not have this batch yet."""
        missing = [flow for flow in flows if not self._lake.commits.by(flow.into, self._transaction(flow))]
        return [self._record_flow(flow, self._lake.commits.version(flow.into)) for flow in missing]

    def _read(self, topic: Topic, flows: list[Flow], missing: list[RecordFlow]) -> None:
        """Has the records of a topic judged, and files of the tables written of those flows that miss them."""
        begin: dict[int, int] = {}
        for part in (part for flow in flows for part in self._inputs.unfolded(flow, topic)):
            begin[part.partition] = min(part.start, begin.get(part.partition, part.start))
        wanted = ranges_between({topic.name: begin}, self._batch.end_position.offsets)
        ranges = of_topic(topic, wanted)
        self._written[topic.name] = self._judge(topic, ranges, missing)

    def _judge(self, topic: Topic, ranges: Sequence[OffsetRange], flows: Sequence[RecordFlow]) -> Written:
        def write(records: DataFrame) -> Written:
            of_batch = within(of_topic(topic, self._batch.ranges))
            return record_tasks.write(records, topic, self._wires[topic.name], flows, of_batch, self._batch.started_at)

        try:
            return write(self._log.records(topic.name, ranges))
        except Exception as error:
            if not is_of_a_time(error):
                raise
            return write(self._log.records(topic.name, ranges, by_spark=False))

    def _record_flow(self, flow: Flow, version: int) -> RecordFlow:
        assert flow.topic is not None
        known = next((name for name, read in flow.reads.items() if isinstance(read, Known)), None)
        return RecordFlow(
            name=flow.name,
            into=flow.into,
            folder=self._lake.path(flow.into),
            by=flow.by,
            where=within(self._inputs.unfolded(flow, flow.topic)),
            known=known,
            version=version,
        )

    def _commit(self, flow: Flow) -> Change | None:
        """Puts the files that tasks have written into the flow's table."""
        assert flow.topic is not None
        files = self._written[flow.topic.name].files.get(flow.name, ())
        return self._lake.commit(flow.into, self._transaction(flow), files)

    def _transaction(self, flow: Flow) -> Transaction:
        return (
            self._batch.catch_up_transaction(flow.name) if flow.catch_up_group else self._batch.transaction(flow.name)
        )

    def _fold(self, flow: Flow) -> Change | None:
        """What the flow's query gives, in its table."""
        is_rebuilt = self._inputs.is_rebuilt(flow)
        if not is_rebuilt and (found := self._lake.commits.by(flow.into, self._transaction(flow))):
            return found
        with closing(duck.cursor()) as cursor:
            moves = self._moves(flow)
            if not moves:  # messages about what the batch changes are all that is asked for
                cursor.execute(f"CREATE TEMP TABLE touched AS {self._inputs.keys_of_batch(flow)}")
            for name, read in flow.reads.items():
                rows = self._inputs.rows(cursor, flow, read)
                if isinstance(read, New) and not moves:
                    rows = f"FROM ({rows}) SEMI JOIN touched USING ({', '.join(flow.into.key)})"
                cursor.execute(f"CREATE TEMP VIEW {name} AS {rows}")
            cursor.execute(f"CREATE TEMP TABLE changed AS FROM ({flow.by}) WHERE {self._is_kept(flow)}")
            if flow.publishes and self._tells(flow):
                own = (
                    within(of_topic(topic, self._batch.ranges), prefix)
                    for topic, prefix in flow.publishes.sources.items()
                )
                cursor.execute(f"CREATE TEMP VIEW reports AS FROM changed WHERE {' OR '.join(own)}")
                self._log.send(cursor.sql(flow.publishes.by).to_arrow_table(), flow.publishes.topic.name)
            if not moves:
                return None
            if is_rebuilt:
                return self._replace(cursor, flow)
            fold = self._lake.merge if flow.write == "merge" else self._lake.add
            return fold(cursor, "FROM changed", flow.into, self._transaction(flow))

    def _replace(self, cursor: Cursor, flow: Flow) -> Change | None:
        """Under an identity of its own: a batch that was cut off may have written the old table already."""
        rebuild = Transaction(f"rebuild-{uuid.uuid4()}/{flow.name}", 0, self._batch.batch_id)
        made = self._lake.replace(cursor, "FROM changed", flow.into, rebuild)
        if flow.archive and self._lake.commits.version(flow.archive):  # what it removed is in the table again
            name = _of_archive(flow)
            emptied = Transaction(f"rebuild-{uuid.uuid4()}/{name}", 0, self._batch.batch_id)
            nothing = data_files.empty_rows(flow.archive)
            if change := self._lake.replace(cursor, nothing, flow.archive, emptied):
                self._commits[name] = change
        return made

    def _is_kept(self, flow: Flow) -> str:
        """A late scan does not bring back, in part, what was removed as a whole."""
        state = self._positions.tables.get(flow.into.name)
        if self._inputs.is_rebuilt(flow) or flow.archive or not state:
            return "true"
        return f"NOT {is_expired(flow.into.expiry, state.expired_before)}"


def _of_archive(flow: Flow) -> str:
    """Names the commit to the archive of the flow's table."""
    return f"{flow.name}.archive"
