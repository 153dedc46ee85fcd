"""A replay that begins with the tables of a batch, instead of with nothing."""

from collections.abc import Mapping
from datetime import UTC, datetime

from pipelines.code_version import fingerprint
from pipelines.engine.runner import told
from pipelines.graph import tables_of
from pipelines.io.delta import delta_rs
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.log import ranges_between
from pipelines.settings import Settings
from pipelines.state.lake_choices import wires
from pipelines.state.ledger import Counts, Ledger, LedgerRow, TableState
from pipelines.state.replay_records import Replay
from pipelines.tables import OPS_BATCHES


def replay_from(row: LedgerRow, versions: Mapping[str, int], replay_id: str, settings: Settings) -> Replay:
    """A replay, not saved yet, that begins where a batch of the live ledger ended.

    Args:
        row: That batch.
        versions: Delta version of each live table at it.
        replay_id: Its name.
        settings: How large its batches are.
    """
    return Replay(
        replay_id=replay_id,
        created_at=datetime.now(UTC),
        fence=row.batch_id,
        begin=row.end_offsets,
        steps=(),
        max_records=settings.replay.max_records_per_batch,
        code=fingerprint(),
        formats=told(wires(settings)),
        base=versions,
    )


def link(lake: Lake, live: Lake, replay: Replay) -> None:
    """Makes the lake of other names for the files of the live tables at `replay.base`. No row is copied.

    Until `begin` is called, rows of its append-only tables may be changed.

    Raises `NotFound` when the versions, or files of them, are gone: before it makes anything.
    """
    reader = LakeReader(live.root, replay.base)
    for name in replay.base:
        reader.check_files(name)
    lake.ensure(OPS_BATCHES)
    for table in tables_of():
        lake.ensure(table)
        transaction = base_transaction(replay, table.name)
        delta_rs.swap_in(lake.path(table), live.path(table), replay.base[table.name], transaction)


def begin(
    lake: Lake,
    row: LedgerRow,
    replay: Replay,
    counts: Mapping[str, Counts],
    expired_before: Mapping[str, datetime | None],
) -> None:
    """Writes the first row of its ledger: the tables as they are, at the end of a batch of the live ledger.

    Args:
        lake: The replay's tables.
        row: That batch.
        replay: The replay.
        counts: What the live ledger counts up to there, by topic.
        expired_before: By table, the time up to which rows were removed.
    """
    states = {}
    for table in tables_of():
        delta_rs.end_swap_in(lake.path(table), table)
        states[table.name] = TableState(lake.log(table).newest_version(), 0, expired_before[table.name])
    first = LedgerRow(
        batch_id=0,
        checkpoint_id=replay.replay_id,
        checkpoint_batch_id=-1,
        started_at=row.started_at,
        committed_at=datetime.now(UTC),
        ranges=ranges_between({}, row.end_offsets),
        counts=counts,
        tables=states,
    )
    Ledger(lake).append(first, base_transaction(replay, "ledger"))


def base_transaction(replay: Replay, name: str) -> Transaction:
    """Under an app id that no batch of the replay has: those count from 0, too."""
    return Transaction(f"base-{replay.replay_id}/{name}", 0, batch_id=0)
