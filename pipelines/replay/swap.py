"""A replay's tables take the place of the live ones: what of them does, in which order, and what it adds to counts."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

from pipelines.errors import LakeMismatch
from pipelines.io.delta import delta_rs
from pipelines.io.delta.lake import MANY, Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import KafkaLog, Offsets, ranges_between
from pipelines.replay import publication
from pipelines.settings import Settings
from pipelines.state.ledger import Counts, Ledger, LedgerRow, TableState
from pipelines.state.replay_records import Promotion, Replay
from pipelines.state.snapshots import snapshot
from pipelines.tables import OPS_BATCHES, TABLES, Table

AT_ONCE = 4
"""Tables that change places side by side."""


def begun(replay: Replay, last: LedgerRow, made: Ledger, live_root: str) -> Replay:
    """The replay with the promotion that begins, from which a command that finishes it knows what is to be done."""
    at, before = made.last(), snapshot(live_root)
    assert at is not None
    promotion = Promotion(
        begun_at=datetime.now(UTC),
        batch_id=last.batch_id + 1,
        way_back_to=before.batch_id,
        before=before.versions,
        shadow_versions={name: state.version for name, state in at.tables.items()},
        positions=_positions(replay, last, made.reached(at)),
    )
    return replay.model_copy(update={"promotions": (*replay.promotions, promotion)})


def _positions(replay: Replay, last: LedgerRow, reached: Mapping[str, Offsets]) -> dict[str, int]:
    """The live ledger's batch at which each of a replay's tables stands that is not as far as a row of that ledger.

    Raises `LakeMismatch` for one that stands within a batch.
    """
    positions = {name: replay.live_batch(at) for name, at in reached.items() if at != last.end_offsets}
    found = {name: batch_id for name, batch_id in positions.items() if batch_id is not None}
    if between := sorted(positions.keys() - found.keys()):
        raise LakeMismatch(
            f"Tables of {replay.replay_id} stand within a batch: {', '.join(between)}. Promote it again."
        )
    return found


def publish_changes(replay: Replay, last: LedgerRow, live: Lake, shadow: Lake, settings: Settings) -> None:
    """Sends who follows package-reports what changes, before it does."""
    promotion = replay.under_way
    assert promotion is not None
    before = LakeReader(live.root, {name: state.version for name, state in last.tables.items()})
    after = LakeReader(shadow.root, promotion.shadow_versions)
    publication.publish(before, after, shadow, KafkaLog(live.spark, Connection.of(settings)))


def change_places(
    replay: Replay, live: Lake, shadow: Lake, ledger: Ledger, last: LedgerRow, counts: Mapping[str, Counts]
) -> LedgerRow:
    """Each table in one commit, then the ledger's row. Whatever of it is done already is left as it is."""
    promotion, at = replay.under_way, Ledger(shadow).last()
    assert promotion is not None
    assert at is not None
    writer, reached = f"promote-{replay.replay_id}", ledger.reached(last)

    def changed(table: Table) -> TableState:
        if not _changes_place(table, replay):
            state = last.tables[table.name]
            has_come_up = reached[table.name] == last.end_offsets
            return replace(state, position=promotion.batch_id) if has_come_up else state
        transaction = Transaction(f"{writer}/{table.name}", promotion.batch_id)
        delta_rs.take_over(live.path(table), shadow.path(table), promotion.shadow_versions[table.name], transaction)
        delta_rs.end_take_over(live.path(table), table)
        position = promotion.positions.get(table.name, promotion.batch_id)
        return TableState(live.log(table).newest_version(), position, at.tables[table.name].expired_before)

    tables = [table for table in TABLES if table != OPS_BATCHES]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        states = dict(zip((table.name for table in tables), pool.map(changed, tables), strict=True))
    row = replace(
        last,
        batch_id=promotion.batch_id,
        started_at=promotion.begun_at,
        committed_at=datetime.now(UTC),
        ranges=ranges_between(last.end_offsets, last.end_offsets),
        counts=counts,
        tables=states,
        replay_id=replay.replay_id,
    )
    ledger.append(row, Transaction(f"{writer}/ledger", promotion.batch_id))
    return row


def _changes_place(table: Table, replay: Replay) -> bool:
    """Not what was read but only that which was made of it; nor what follows from no log, unless it was taken along."""
    if table.name.startswith("bronze."):
        return bool(replay.comparison and replay.comparison.differing.get(table.name))
    return table.follows_log or bool(replay.base)


TOTALS = f"""
    SELECT kafka_topic, sum(read_count)::BIGINT, sum(accepted_count)::BIGINT, sum(duplicate_count)::BIGINT,
        sum(quarantined_count)::BIGINT
    FROM (SELECT unnest(counts, recursive := true) FROM {OPS_BATCHES.name} WHERE batch_id < ?) GROUP BY kafka_topic
"""


def totals(lake_root: str, before: int = MANY) -> dict[str, Counts]:
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
