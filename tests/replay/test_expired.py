"""A lake that removed rows is replayed, rebuilt and corrected like any other."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import QuarantineRedrive, ReplayVerify
from pipelines.contracts.rules import Reason
from pipelines.engine.batch import maintenance_batch
from pipelines.io.delta.lake import Lake
from pipelines.live.planner import live_runner
from pipelines.maintenance.expire import expire
from pipelines.replay import redrive, verify
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.tables import GOLD_REMAINING_STOPS, OPS_EXPIRED_REPORTS, Table
from tests.batches import Crashed, CrashingLake, new_lake, run
from tests.comparison import expected_rows
from tests.oracle.makers import route, scan
from tests.replay.offline import Offline, connected, fed
from tests.replay.test_redrive import wrong_rule

OLD, IN_91_DAYS, NOW = "2026-03-01", "2026-05-31", datetime(2026, 6, 1, tzinfo=UTC)
PARTS = [
    (
        scan(9, "08:00", day=OLD, offset=0),
        scan(1, "10:00", day=OLD, status="DL", stop=5, offset=1),
        scan(1, "09:00", day=OLD, offset=2),
        scan(2, "10:00", day=OLD, status="DL", stop=5, offset=3),
        *(route(package, 12, offset=package) for package in (1, 2)),
    ),
    (scan(3, "10:00", day=IN_91_DAYS, offset=5),),
    (scan(4, "10:30", day=IN_91_DAYS, offset=7),),
]
LET_GO = {1, 2}


def held(lake: Offline) -> tuple[Lake, Ledger, LedgerRow]:
    tables = new_lake(lake.spark, lake.settings.lake_root)
    ledger = Ledger(tables)
    last = ledger.last()
    assert last is not None
    return tables, ledger, last


def apply_expiry(lake: Offline) -> None:
    tables, ledger, last = held(lake)
    expire(last, tables, ledger, now=NOW)
    assert packages(lake, OPS_EXPIRED_REPORTS) == LET_GO
    assert not packages(lake, GOLD_REMAINING_STOPS) & LET_GO


def packages(lake: Offline, table: Table) -> set[int]:
    rows = Lake(lake.spark, lake.settings.lake_root).read(table)
    return {row["tracking_number"] for row in rows.collect()}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offline:
    return connected(fed(spark, tmp_path, PARTS, -1), monkeypatch)


def is_identical(lake: Offline) -> bool:
    return verify.run(ReplayVerify(), lake.settings).verdict == "identical"


def rebuilt(lake: Offline) -> None:
    tables, _, last = held(lake)
    rebuild = maintenance_batch(last, "rebuild", rebuilds=frozenset({"gold.remaining_stops"}))
    run(tables, lake.spark, lake.records, [rebuild])


def cut_off_and_started_again(lake: Offline) -> None:
    """Again `pts expire`, which dies between the archive and the ledger."""
    rebuilt(lake)
    _, ledger, last = held(lake)
    with pytest.raises(Crashed):
        expire(last, CrashingLake(lake.spark, lake.settings.lake_root, 2), ledger, now=NOW)
    assert not packages(lake, GOLD_REMAINING_STOPS) & LET_GO
    live_runner(lake.spark, lake.settings).prepare()


@pytest.mark.parametrize("make_again", [rebuilt, cut_off_and_started_again])
def test_table_that_is_rebuilt_has_what_was_removed_and_the_archive_has_not(
    lake: Offline, make_again: Callable[[Offline], None]
) -> None:
    apply_expiry(lake)
    make_again(lake)
    assert lake.tables() == expected_rows(lake.read())
    assert packages(lake, OPS_EXPIRED_REPORTS) == set()
    lake.feed()
    apply_expiry(lake)
    assert is_identical(lake)


def test_record_of_a_package_that_was_removed_is_redriven_into_the_archive(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wrong_rule():
        lake = connected(fed(spark, tmp_path, PARTS, -1), monkeypatch)
    tables, ledger, last = held(lake)
    expire(last, tables, ledger, now=NOW)
    assert packages(lake, OPS_EXPIRED_REPORTS) == LET_GO

    redrive.run(QuarantineRedrive(reasons=(Reason.MALFORMED,)), lake.settings)

    assert packages(lake, OPS_EXPIRED_REPORTS) == LET_GO
    assert packages(lake, GOLD_REMAINING_STOPS) == {3, 9}
    assert is_identical(lake)
