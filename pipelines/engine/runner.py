"""What every job does that brings a lake along the log: prepare the tables, run batches, bring up what follows."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from pyspark.sql import SparkSession

from pipelines.contracts.wire import Wire
from pipelines.engine.batch import END_OF_DEFERRAL, Batch, Following, Reach, Standing, maintenance_batch
from pipelines.engine.integrity import State, prepare
from pipelines.engine.micro_batch import MicroBatch
from pipelines.engine.schedule import Cycle, is_deferred
from pipelines.graph import FLOWS, flows_into, with_dependents
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka.log import RecordLog
from pipelines.settings import Settings
from pipelines.state.lake_choices import wires
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.tables import OPS_BATCHES


class LakeJob(ABC):
    """A lake and what is needed from batch to batch. Who plans the batches, and from where they read, is left open.

    Attributes:
        lake: The tables.
        last: The ledger's newest row.
    """

    def __init__(self, spark: SparkSession, settings: Settings, root: str) -> None:
        self._spark = spark
        self._settings = settings
        self._wires = wires(settings)
        self.lake = Lake(spark, root)
        self.last: LedgerRow | None = None
        self._group = f"pts-{uuid.uuid4()}"
        self._cycle = Cycle(settings.stream.follow_seconds)
        self._standing = Standing()
        self._rebuilds: frozenset[str] = frozenset()

    @abstractmethod
    def _log(self, spark: SparkSession) -> RecordLog:
        """What batches read."""

    @abstractmethod
    def _planner(self) -> str | None:
        """Identity of what plans the batches; None before its first start."""

    @abstractmethod
    def _cut_off(self) -> int | None:
        """Number of the batch that may have been cut off: planned, and not in the ledger."""

    @abstractmethod
    def _check_planner(self) -> None:
        """Raises `LakeMismatch` when the ledger's newest row and what plans the batches contradict each other."""

    def prepare(self, rebuilds: Iterable[str] = ()) -> bool:
        """Checks and creates the tables; makes anew those that are asked for, that the ledger does not know, or that a
        maintenance command left half done.

        Returns:
            Whether a batch was cut off between tables. Then its repeat makes the tables anew.

        Raises `LakeMismatch` when ledger, planner and tables contradict each other.
        """
        # Another command may have had the tables meanwhile, and brought them further than a cycle was to.
        self.lake = Lake(self._spark, self.lake.root)
        self._cycle.begin_anew()
        if self.lake.exists(OPS_BATCHES):
            self.lake.log(OPS_BATCHES).newest_version()  # raises where its last row was lost half-way
        self.lake.ensure(OPS_BATCHES)
        ledger = Ledger(self.lake)
        self.last = ledger.last()
        self._check_planner()
        self._standing = Standing.after(self.last, ledger)
        wanted = with_dependents(rebuilds)
        states = prepare(self.lake, self.last, self._planner(), self._cut_off(), wanted)
        half_done = (state.table.name for state in states if state.is_half_done)
        added = (flow.into.name for flow in FLOWS if flow.is_fold and flow.into.name not in self._standing.tables)
        self._rebuilds = with_dependents((*wanted, *half_done, *(added if self.last else ())))
        self._end_turns([state for state in states if state.is_ahead_to is not None], ledger)
        was_cut_off = any(state.is_ahead for state in states)
        if self.last and self._rebuilds and not was_cut_off:
            self._run(maintenance_batch(self.last, "rebuild", rebuilds=self._rebuilds), self._spark)
        return was_cut_off

    def _end_turns(self, ahead: list[State], ledger: Ledger) -> None:
        """Completes a turn that was cut off, up to the batch to which it was to bring its tables."""
        for batch_id in {state.is_ahead_to for state in ahead if state.is_ahead_to is not None}:
            assert self.last is not None
            known = ledger.row(batch_id)  # none for maintenance, which would have become the ledger's next row
            up_to = Reach.of(known) if known else Reach(batch_id, self.last.end_offsets)
            flows = (flow for state in ahead for flow in flows_into(state.table))
            following = Following(tuple({flow.turn for flow in flows if flow.turn}), up_to)
            rebuilds = self._rebuilds
            self._run(maintenance_batch(self.last, "catch-up", following=following), self._spark)
            self._rebuilds = rebuilds

    def catch_up(self) -> None:
        """Brings the tables that follow to the end of the ledger. No batch may have been cut off."""
        if self.last and any(state.position < self.last.batch_id for state in self.last.tables.values()):
            self._run(maintenance_batch(self.last, "catch-up"), self._spark)
        self._cycle.begin_anew()

    def end_deferral(self) -> None:
        """Brings large tables that wait to the end of the ledger. No batch may have been cut off."""
        if self.last and is_deferred(self.last):
            self._run(maintenance_batch(self.last, "catch-up", following=END_OF_DEFERRAL), self._spark)

    def _run(self, batch: Batch, spark: SparkSession) -> LedgerRow:
        """Runs a batch in a session; what it made is `lake` and `last` from then on."""
        lake = self.lake.in_session(spark)
        row = MicroBatch(batch, self._standing, lake, self._log(spark), self._wires).run(Ledger(lake))
        self.last, self._standing, self.lake = row, self._standing.then(row, batch), lake
        self._rebuilds = frozenset()
        return row


def told(wires: Mapping[str, Wire]) -> dict[str, str]:
    """How the values of each topic are written, as a replay keeps it."""
    return {topic: str(wire) for topic, wire in wires.items()}
