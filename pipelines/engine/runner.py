"""Brings a lake along the log: prepares the tables, runs batches, and has the others catch up."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

from pyspark.sql import SparkSession

from pipelines.contracts.wire import Wire
from pipelines.engine.batch import END_OF_DEFERRAL, Batch, CatchUp, LogPosition, TablePositions, maintenance_batch
from pipelines.engine.integrity import State, prepare
from pipelines.engine.micro_batch import MicroBatch
from pipelines.engine.schedule import CatchUpSchedule, is_deferred
from pipelines.graph import FLOWS, Flow, flows_into, with_dependents
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka.log import OffsetRange, RecordLog
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.state.lake_choices import wires
from pipelines.state.ledger import NOTHING_YET, Ledger, LedgerRow
from pipelines.tables import OPS_BATCHES


class Planner(Protocol):
    """What plans the batches of a lake, and numbers them: the checkpoint of the live job, or a replay."""

    @property
    def identity(self) -> str | None:
        """Begins the app id of every batch's transactions; None before the first start."""

    def cut_off(self, last: LedgerRow | None) -> int | None:
        """Number of the batch that may have been cut off: planned, and not in the ledger, of which `last` is the newest
        row. None when there is none.
        """

    def check(self, last: LedgerRow | None) -> None:
        """Raises `LakeMismatch` when the ledger's newest row and the plan contradict each other."""


class LakeRunner:
    """Runs batches on a lake, one after the other, and keeps what the next one needs.

    Args:
        lake: The tables.
        planner: What plans the batches.
        log: Gives what batches read and send to, for a Spark session.
        settings: How values are written, and how often tables catch up.
        flows: What makes the tables.

    Attributes:
        lake: The tables.
        last: The ledger's newest row.
        positions: Where the tables are after it.
        spark: The session in which it works, unless a batch brings one of its own.
        schedule: When catch-up tables are brought up.
        phases: How long the parts of the last batch took, in seconds.
    """

    def __init__(
        self,
        lake: Lake,
        planner: Planner,
        log: Callable[[SparkSession], RecordLog],
        settings: Settings,
        flows: Sequence[Flow] = FLOWS,
    ) -> None:
        self.lake = lake
        self.last: LedgerRow | None = None
        self.positions = TablePositions()
        self.schedule = CatchUpSchedule(settings.stream.follow_seconds)
        self.phases: Mapping[str, float] = {}
        self.spark = lake.spark
        self._planner = planner
        self._log = log
        self._wires = wires(settings)
        self._flows = flows
        self._rebuilds: frozenset[str] = frozenset()

    def prepare(self, rebuilds: Iterable[str] = ()) -> bool:
        """Checks and creates the tables; rebuilds those that are asked for, that the ledger does not know, or that a
        maintenance command left half done.

        Returns:
            Whether a batch was cut off between tables. Then its repeat rebuilds the tables.

        Raises `LakeMismatch` when ledger, planner and tables contradict each other.
        """
        # Another command may have had the tables meanwhile.
        self.lake = Lake(self.spark, self.lake.root)
        if self.lake.exists(OPS_BATCHES):
            self.lake.log(OPS_BATCHES).newest_version()  # raises where its last row was lost half-way
        self.lake.ensure(OPS_BATCHES)
        ledger = Ledger(self.lake)
        self.last = ledger.last()
        self._planner.check(self.last)
        self.positions = TablePositions.after(self.last, ledger)
        wanted = with_dependents(rebuilds, self._flows)
        cut_off = self._planner.cut_off(self.last)
        with part("Comparing the tables with the ledger"):
            states = prepare(self.lake, self.last, self._planner.identity, cut_off, wanted, self._flows)
        half_done = (state.table.name for state in states if state.is_half_done)
        added = (flow.into.name for flow in self._flows if flow.is_fold and flow.into.name not in self.positions.tables)
        self._rebuilds = with_dependents((*wanted, *half_done, *(added if self.last else ())), self._flows)
        self._finish_catch_up([state for state in states if state.is_ahead_to is not None], ledger)
        was_cut_off = any(state.is_ahead for state in states)
        if self.last and self._rebuilds and not was_cut_off:
            with part(f"Rebuilding {', '.join(sorted(self._rebuilds))}"):
                self.run(maintenance_batch(self.last, "rebuild", rebuilds=self._rebuilds))
        return was_cut_off

    def _finish_catch_up(self, ahead: list[State], ledger: Ledger) -> None:
        """Completes a catch-up that was cut off, up to the batch to which it was to bring its tables."""
        for batch_id in {state.is_ahead_to for state in ahead if state.is_ahead_to is not None}:
            assert self.last is not None
            known = ledger.row(batch_id)  # none for maintenance, which would have become the ledger's next row
            up_to = LogPosition.of(known) if known else LogPosition(batch_id, self.last.end_offsets)
            flows = (flow for state in ahead for flow in flows_into(state.table, self._flows))
            catch_up = CatchUp(tuple({flow.catch_up_group for flow in flows if flow.catch_up_group}), up_to)
            rebuilds = self._rebuilds
            self.run(maintenance_batch(self.last, "catch-up", catch_up=catch_up))
            self._rebuilds = rebuilds

    def catch_up(self) -> None:
        """Brings the catch-up tables to the end of the ledger. No batch may have been cut off."""
        if self.last and any(state.position < self.last.batch_id for state in self.last.tables.values()):
            self.run(maintenance_batch(self.last, "catch-up"))
        self.schedule.restart()

    def end_deferral(self) -> None:
        """Brings large tables that wait to the end of the ledger. No batch may have been cut off."""
        if self.last and is_deferred(self.last):
            self.run(maintenance_batch(self.last, "catch-up", catch_up=END_OF_DEFERRAL))

    def batch(self, number: int, ranges: Sequence[OffsetRange], catch_up: CatchUp | None = None) -> Batch:
        """The next batch, which the planner counts as `number`; it brings up what is due, unless `catch_up`
        says otherwise.
        """
        planned_by = self._planner.identity
        assert planned_by is not None
        return Batch(
            batch_id=self.last.batch_id + 1 if self.last else 0,
            checkpoint_id=planned_by,
            checkpoint_batch_id=number,
            ranges=tuple(ranges),
            started_at=datetime.now(UTC),
            writer=planned_by,
            catch_up=catch_up or self.schedule.next(self.last),
            rebuilds=self._rebuilds,
        )

    def run(self, batch: Batch, spark: SparkSession | None = None) -> LedgerRow:
        """Runs a batch, in a session of its own if one is given. `lake`, `last` and `positions` are then after it."""
        session = spark or self.spark
        lake = self.lake.in_session(session)
        made = MicroBatch(batch, self.positions, lake, self._log(session), self._wires, self._flows)
        row = made.run(Ledger(lake))
        self.phases = made.seconds
        self.last, self.positions, self.lake = row, self.positions.then(row, batch), lake
        self._rebuilds = frozenset()
        return row

    def rehearse(self, ranges: Sequence[OffsetRange]) -> None:
        """Judges what the ranges hold and keeps nothing of it, so that the first batch finds warm what it needs."""
        batch = Batch(NOTHING_YET, "", 0, tuple(ranges), datetime.now(UTC), "")
        MicroBatch(batch, TablePositions(), self.lake, self._log(self.spark), self._wires, self._flows).rehearse()


def told(wires: Mapping[str, Wire]) -> dict[str, str]:
    """How the values of each topic are written, as a replay keeps it."""
    return {topic: str(wire) for topic, wire in wires.items()}
