"""A lake and its log without a broker, for the commands of `pts replay`."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.checks import verify
from pipelines.commands import Verify
from pipelines.engine.batch import Batch, CatchUp
from pipelines.errors import Violation
from pipelines.graph import CATCH_UP_GROUPS, FLOWS, Flow
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka.log import Offsets
from pipelines.maintenance import backfill
from pipelines.replay import build, plan, promote, redrive, rollback, swap
from pipelines.settings import Replay, Settings
from pipelines.state.ledger import Ledger
from tests.batches import Crashed, CrashingLake, batches, new_lake, run, tables, write_checkpoint
from tests.cases import pack_of
from tests.comparison import Rows
from tests.memory_log import MemoryLog
from tests.oracle.records import LogRecord
from tests.planted import planted

PACK = pack_of(40)
WRONG_COLUMNS = ("current_stop_id", "event_code")
DECLARED = tuple(f"gold.remaining_stops.{name}" for name in WRONG_COLUMNS)

IS_WRONG = "tracking_number // 10 % 2 = 0"
WRONG_FLOWS = planted(
    FLOWS,
    {
        "remaining_stops": {
            "current_stop_id": f"current_stop_id + ({IS_WRONG})::BIGINT",
            "number_of_remaining_stops": f"number_of_remaining_stops - ({IS_WRONG})::BIGINT",
            "event_code": f"event_code || CASE WHEN {IS_WRONG} THEN '!' ELSE '' END",
        }
    },
)
"""Reports of packages with an even digit before the last are a stop ahead, and shout."""

Parts = Iterable[Iterable[LogRecord]]


class Offline:
    """A live lake under a folder, built from parts of a log; the log itself may lose its beginning.

    Attributes:
        settings: Where it is.
        begin: Where the log begins now, by topic and partition.
        sent: Messages, (key, value), of the replays' commands.
    """

    def __init__(self, spark: SparkSession, folder: Path, parts: Sequence[tuple[LogRecord, ...]]) -> None:
        self.spark = spark
        self.parts = parts
        self.records = [record for part in parts for record in part]
        self.fed = 0
        self.settings = Settings(
            home=folder, lake=str(folder / "lake"), replay=Replay(max_records_per_batch=150, wait_above_lag=0)
        )
        self.begin: Offsets = {}
        self.sent: list[tuple[str, str | None]] = []

    def copy(self, folder: Path) -> "Offline":
        """The same lake under another folder."""
        made = Offline(self.spark, folder, self.parts)
        shutil.copytree(self.settings.lake_root, made.settings.lake_root)
        made.fed = self.fed
        return made

    def feed(self, until: int | None = None, flows: Sequence[Flow] = FLOWS) -> None:
        """Brings the live lake up to a part of the log, the last without; all tables move with each batch."""
        todo = self._next(until)
        run(new_lake(self.spark, self.settings.lake_root), self.spark, self.records, todo, everything, flows=flows)
        self.fed += len(todo)
        write_checkpoint(Path(self.settings.lake_root), batches(*self.parts)[: self.fed])

    def crash(self, writes: int) -> None:
        """The live job is cut off after so many writes of the next batch."""
        lake = CrashingLake(self.spark, self.settings.lake_root, writes)
        with pytest.raises(Crashed):
            run(lake, self.spark, self.records, self._next(self.fed + 1), everything)
        write_checkpoint(Path(self.settings.lake_root), batches(*self.parts)[: self.fed + 1], cut_off=True)

    def _next(self, until: int | None) -> list[Batch]:
        last = Ledger(Lake(self.spark, self.settings.lake_root)).last() if self.fed else None
        shift = last.batch_id + 1 - self.fed if last else 0
        return [replace(each, batch_id=each.batch_id + shift) for each in batches(*self.parts)[self.fed : until]]

    def read(self) -> list[LogRecord]:
        """What the live lake has read."""
        return [record for part in self.parts[: self.fed] for record in part]

    def tables(self) -> dict[str, Rows]:
        return tables(Lake(self.spark, self.settings.lake_root))

    def offsets(self, edge: str) -> Offsets:
        found: Offsets = {}
        for record in self.records:
            partitions = found.setdefault(record.topic, {})
            partitions.setdefault(record.partition, 0)
            if edge == "end":
                partitions[record.partition] = max(partitions[record.partition], record.offset + 1)
        for topic, partitions in self.begin.items() if edge == "begin" else ():
            found[topic] |= partitions
        return found

    def log(self, session: SparkSession) -> MemoryLog:
        """What the log still holds."""
        begin = self.offsets("begin")
        there = [record for record in self.records if record.offset >= begin[record.topic][record.partition]]
        log = MemoryLog(session, there)
        log.sent = self.sent
        return log


def assert_only_the_planted_is_wrong(made: Offline) -> None:
    """By `pts verify`, that all before the reports holds, and what they say does not."""
    with pytest.raises(Violation, match="reports_say_what_their_records_say does not hold"):
        verify.run(Verify(), made.settings)


def everything(batch: Batch) -> CatchUp:
    return CatchUp(CATCH_UP_GROUPS, batch.end_position)


def fed(
    spark: SparkSession, folder: Path, parts: Parts, until: int | None = None, flows: Sequence[Flow] = FLOWS
) -> Offline:
    """A live lake that has read the first parts of a log, all unless told otherwise; the log holds all of them."""
    made = Offline(spark, folder, [tuple(part) for part in parts])
    made.feed(until, flows)
    return made


def connected(made: Offline, monkeypatch: pytest.MonkeyPatch) -> Offline:
    """The same, when the replays' commands read its log and use its session."""

    @contextmanager
    def shared_session(_settings: Settings, _name: str) -> Iterator[SparkSession]:
        yield made.spark

    for module in (backfill, build, promote, redrive, rollback):
        monkeypatch.setattr(module, "spark_job", shared_session)
    for module in (build, swap):
        monkeypatch.setattr(module, "KafkaLog", lambda session, *_: made.log(session))
    for module in (build, plan):
        monkeypatch.setattr(module, "begin_offsets", lambda _servers, _topics: made.offsets("begin"))
        monkeypatch.setattr(module, "end_offsets", lambda _servers, _topics: made.offsets("end"))
    return made
