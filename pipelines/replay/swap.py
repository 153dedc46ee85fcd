"""The swap of a replay's tables for the live ones: which of them, in which order, and what it adds to counts."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from enum import IntEnum, auto

from pipelines.engine.runner import LakeRunner
from pipelines.errors import LakeMismatch
from pipelines.graph import tables_of
from pipelines.io.delta import delta_rs
from pipelines.io.delta.lake import NO_BOUND, Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import KafkaLog, Offsets
from pipelines.live.resume import check_promotions
from pipelines.maintenance.common import check
from pipelines.replay import publication
from pipelines.replay.build import caught_up
from pipelines.settings import Settings
from pipelines.state.ledger import Counts, Ledger, LedgerRow, TableState
from pipelines.state.replay_records import Promotion, Replay, Replays
from pipelines.state.snapshots import is_settled, newest_promotion, snapshot
from pipelines.tables import OPS_BATCHES, Table

AT_ONCE = 4
"""Tables that are swapped side by side."""


class Stage(IntEnum):
    """A part of a promotion, in order. Each may be done again: what of it is done already is left as it is."""

    APPROACH = auto()
    """The replay comes so near to the live job that the rest takes seconds."""

    PREPARE_SWAP = auto()
    """The replay comes up with the live tables, and `replay.json` says what is to be done. This stage and the next
    three need the writer lease."""

    PUBLISH_CHANGES = auto()
    """Who follows package-reports is sent what changes."""

    SWAP_TABLES = auto()
    """Each table in one commit."""

    RECORD = auto()
    """The ledger's row, and the date in `replay.json`."""

    SETTLE = auto()
    """All tables come to one batch."""


def next_stage(replay: Replay, lake_root: str) -> Stage | None:
    """The stage with which a promotion begins, or goes on, as `replay.json` and the ledger say; None when it is done.

    Raises `LakeMismatch` when it is done but for the last stage, and another one was cut off since: a rollback of it,
    or the promotion that it was to undo.
    """
    newest = newest_promotion(lake_root)
    if replay.under_way:
        return Stage.RECORD if newest == replay.under_way.batch_id else Stage.PUBLISH_CHANGES
    if not replay.promotions or newest != replay.promotions[-1].batch_id:
        return Stage.APPROACH
    check_promotions(lake_root)
    return None if is_settled(lake_root) else Stage.SETTLE


def _positions(replay: Replay, last: LedgerRow, reached: Mapping[str, Offsets]) -> dict[str, int]:
    """The live ledger's batch at which each of a replay's tables is that is not as far as a row of that ledger.

    Raises `LakeMismatch` for one that is within a batch.
    """
    positions = {name: replay.live_batch(at) for name, at in reached.items() if at != last.end_offsets}
    found = {name: batch_id for name, batch_id in positions.items() if batch_id is not None}
    if between := sorted(positions.keys() - found.keys()):
        raise LakeMismatch(
            f"Tables of {replay.replay_id} stand within a batch: {', '.join(between)}. Promote it again."
        )
    return found


class Swap:
    """A replay's tables in place of the live ones, stage by stage, by who holds the writer lease.

    Args:
        replay_id: The replay.
        runner: Of the live lake.
        settings: Where lake and log are.

    Attributes:
        replay: Its record, as the newest stage has left it.
    """

    def __init__(self, replay_id: str, runner: LakeRunner, settings: Settings) -> None:
        self._replays = Replays(settings.lake_root)
        self.replay = self._replays.load(replay_id)
        self._runner = runner
        self._settings = settings
        self._live = Lake(runner.spark, settings.lake_root)
        self._shadow = Lake(runner.spark, self._replays.root(replay_id))

    @property
    def stages(self) -> Mapping[Stage, Callable[[], None]]:
        """What does each of them."""
        return {
            Stage.PREPARE_SWAP: self.prepare_swap,
            Stage.PUBLISH_CHANGES: self.publish_changes,
            Stage.SWAP_TABLES: self.swap_tables,
            Stage.RECORD: self.record,
        }

    def prepare_swap(self) -> None:
        """Raises `LakeMismatch` when a batch was cut off, or the two ledgers did not count the same records."""
        runner, root = self._runner, self._live.root
        check(runner)  # refuses a batch that was cut off: its repeat would write nothing then
        if not is_settled(root):
            runner.catch_up()  # or the way back would lead to before an earlier promotion
        runner.end_deferral()  # or who follows package-reports would be sent reports of before
        assert runner.last is not None
        replay = caught_up(self.replay, runner.last, self._replays, runner.spark, self._settings, is_last_part=True)
        corrections(totals(root), totals(self._shadow.root))
        made, before = Ledger(self._shadow), snapshot(root)
        at = made.last()
        assert at is not None
        promotion = Promotion(
            begun_at=datetime.now(UTC),
            batch_id=runner.last.batch_id + 1,
            way_back_to=before.batch_id,
            before=before.versions,
            shadow_versions={name: state.version for name, state in at.tables.items()},
            positions=_positions(replay, runner.last, made.reached(at)),
        )
        self._keep(replay.model_copy(update={"promotions": (*replay.promotions, promotion)}))

    def publish_changes(self) -> None:
        """At least once: what it has sent is sent again, if it is repeated."""
        before = LakeReader(self._live.root, {name: state.version for name, state in self._last.tables.items()})
        after = LakeReader(self._shadow.root, self._promotion.shadow_versions)
        log = KafkaLog(self._live.spark, Connection.of(self._settings))
        publication.publish(before, after, self._shadow, log)

    def swap_tables(self) -> None:
        """Once each, by its transaction."""

        def swap(table: Table) -> None:
            path, version = self._live.path(table), self._promotion.shadow_versions[table.name]
            delta_rs.swap_in(path, self._shadow.path(table), version, self._transaction(table.name))
            delta_rs.end_swap_in(path, table)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(swap, (table for table in tables_of() if _is_swapped(table, self.replay))))

    def record(self) -> None:
        """First the row, then the date: until then, the live job refuses to go on."""
        last, promotion = self._last, self._promotion
        if last.batch_id < promotion.batch_id:
            ledger, at = Ledger(self._live), Ledger(self._shadow).last()
            assert at is not None
            reached = ledger.reached(last)
            tables = {table.name: self._state(table, last, at, reached[table.name]) for table in tables_of()}
            counts = corrections(totals(self._live.root), totals(self._shadow.root))
            row = last.followed_by(tables, promotion.begun_at, counts, self.replay.replay_id)
            ledger.append(row, self._transaction("ledger"))
        done = promotion.model_copy(update={"done_at": datetime.now(UTC)})
        self._keep(self.replay.model_copy(update={"promotions": (*self.replay.promotions[:-1], done)}))

    def _state(self, table: Table, last: LedgerRow, at: LedgerRow, reached: Offsets) -> TableState:
        """Where a table is after the swap: it had come so far before, and the replay's is as its last row `at` says."""
        promotion = self._promotion
        if not _is_swapped(table, self.replay):
            state = last.tables[table.name]
            return replace(state, position=promotion.batch_id) if reached == last.end_offsets else state
        position = promotion.positions.get(table.name, promotion.batch_id)
        version = self._live.log(table).newest_version()
        return TableState(version, position, at.tables[table.name].expired_before)

    @property
    def _promotion(self) -> Promotion:
        assert self.replay.under_way is not None
        return self.replay.under_way

    @property
    def _last(self) -> LedgerRow:
        last = Ledger(self._live).last()
        assert last is not None
        return last

    def _keep(self, replay: Replay) -> None:
        self._replays.save(replay)
        self.replay = replay

    def _transaction(self, name: str) -> Transaction:
        batch_id = self._promotion.batch_id
        return Transaction(f"promote-{self.replay.replay_id}/{name}", batch_id, batch_id)


def _is_swapped(table: Table, replay: Replay) -> bool:
    """Whether the table is swapped: not an archive, unless it was found to differ, and not a table that does not follow
    from the log, unless the replay began with a copy of it."""
    if table.layer == "bronze":
        return bool(replay.comparison and replay.comparison.differing.get(table.name))
    return table.follows_log or bool(replay.base)


TOTALS = f"""
    SELECT kafka_topic, sum(read_count)::BIGINT, sum(accepted_count)::BIGINT, sum(duplicate_count)::BIGINT,
        sum(quarantined_count)::BIGINT
    FROM (SELECT unnest(counts, recursive := true) FROM {OPS_BATCHES.name} WHERE batch_id < ?) GROUP BY kafka_topic
"""


def totals(lake_root: str, before: int = NO_BOUND) -> dict[str, Counts]:
    """What a ledger counts in all, by topic; up to a batch, if one is given."""
    rows = LakeReader(lake_root).query(TOTALS, [before]).to_pylist()
    return {topic: Counts(*counts) for topic, *counts in (row.values() for row in rows)}


def corrections(live: Mapping[str, Counts], shadow: Mapping[str, Counts]) -> dict[str, Counts]:
    """What is to be added to the live ledger's counts, by topic, so that they are those of the replay.

    Raises `LakeMismatch` when the two did not read the same number of records.
    """
    for topic, counts in live.items():
        if shadow[topic].read != counts.read:
            raise LakeMismatch(
                f"Of {topic} the ledger counts {counts.read:,} records, the replay {shadow[topic].read:,}."
            )
    return {
        topic: Counts(
            read=0,
            accepted=shadow[topic].accepted - counts.accepted,
            duplicate=shadow[topic].duplicate - counts.duplicate,
            quarantined=shadow[topic].quarantined - counts.quarantined,
        )
        for topic, counts in live.items()
    }
