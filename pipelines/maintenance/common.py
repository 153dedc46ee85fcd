"""What commands have in common that change rows of the live tables without reading the log."""

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from pyspark.sql import SparkSession

from pipelines.engine.batch import Batch
from pipelines.engine.runner import LakeRunner
from pipelines.errors import LakeMismatch, NotFound
from pipelines.io.delta.lake import Lake
from pipelines.live.planner import live_runner
from pipelines.settings import Settings
from pipelines.state.handover import handed_over
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.state.snapshots import is_settled
from pipelines.state.writer_lease import writer_code
from pipelines.tables import OPS_BATCHES, TABLES

SETTLE_SECONDS = 180.0
"""How long the live job has to bring all tables to one batch, before it is asked for the lake."""


def existing_lake(spark: SparkSession, settings: Settings) -> LakeRunner:
    """The live lake, not checked yet. Raises `NotFound` when nothing was ever written there, and creates nothing."""
    runner = live_runner(spark, settings)
    if not runner.lake.exists(OPS_BATCHES) or Ledger(runner.lake).last() is None:
        raise NotFound(f"There is no batch in {runner.lake.root} yet: `pts stream` makes them.")
    return runner


def checked_lake(spark: SparkSession, settings: Settings) -> LakeRunner:
    """The live lake, checked; nobody else may write it meanwhile. Raises `NotFound`, and what `check` raises."""
    runner = existing_lake(spark, settings)
    check(runner)
    return runner


def check(runner: LakeRunner) -> None:
    """Raises `LakeMismatch` when the tables are not what the ledger says, or a batch was cut off."""
    if runner.prepare():
        raise LakeMismatch("A batch was cut off between tables. `pts stream --drain` completes it; then try again.")


def settle(spark: SparkSession, settings: Settings) -> None:
    """Waits until all tables are at one batch since the newest promotion. A live job brings them there with its next
    batches, group by group; where none runs, or it takes long, this does."""
    root, deadline = settings.lake_root, time.monotonic() + SETTLE_SECONDS
    while writer_code(root) is not None and not is_settled(root) and time.monotonic() < deadline:
        time.sleep(1.0)
    if not is_settled(root):
        with handed_over(root):
            if not is_settled(root):  # a live job has done it before it handed over
                checked_lake(spark, settings).catch_up()


def end(
    batch: Batch, last: LedgerRow, lake: Lake, ledger: Ledger, expired_before: Mapping[str, datetime] | None = None
) -> LedgerRow:
    """Writes the ledger's row of such a batch. All tables must be at the ledger's last row.

    Args:
        batch: The batch.
        last: The ledger's last row.
        lake: The tables.
        ledger: The ledger.
        expired_before: Of tables that removed rows, the time up to which.
    """
    limits = expired_before or {}
    states = {
        table.name: replace(
            state,
            version=lake.commits.version(table),
            position=batch.batch_id,
            expired_before=limits.get(table.name, state.expired_before),
        )
        for table in TABLES
        if (state := last.tables.get(table.name))
    }
    row = last.followed_by(states, batch.started_at)
    ledger.append(row, batch.transaction("ledger"))
    return row
