"""Windows of an interval are rebuilt, and nothing else changes."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import Backfill
from pipelines.contracts.epoch import EPOCH
from pipelines.errors import InvalidInput
from pipelines.graph import FLOWS
from pipelines.io.delta.lake import Lake
from pipelines.maintenance import backfill, expire
from pipelines.maintenance.backfill import Backfilled
from pipelines.settings import Settings
from pipelines.state.ledger import Ledger, LedgerRow
from tests.batches import batches, new_lake, run, tables, write_checkpoint
from tests.cases import pack_of
from tests.comparison import Rows, expected_rows
from tests.oracle.makers import scan
from tests.window_bug import WINDOW_TABLES, with_bug

PACK = pack_of(40)
BATCHES = batches(*PACK.batches)


def last(lake: Lake) -> LedgerRow:
    row = Ledger(lake).last()
    assert row is not None
    return row


def backfilled(lake: Lake, begin: datetime, end: datetime, *names: str) -> dict[str, Backfilled]:
    ledger = Ledger(lake)
    chosen = backfill.chosen(names)
    return {found.table: found for found in backfill.backfill(chosen, [(begin, end)], last(lake), lake, ledger)}


def inside(rows: Rows, column: str, begin: datetime, end: datetime) -> tuple[Rows, Rows]:
    """The rows of the interval, and the others."""
    first, after = ((time - EPOCH) // timedelta(microseconds=1) for time in (begin, end))
    return (
        [row for row in rows if first <= row[column] < after],
        [row for row in rows if not first <= row[column] < after],
    )


@pytest.fixture(scope="module")
def wrong_once(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("wrong") / "lake"
    run(new_lake(spark, str(root)), spark, PACK.records, BATCHES, flows=with_bug(FLOWS))
    write_checkpoint(root, BATCHES)
    return root


@pytest.fixture
def wrong(spark: SparkSession, wrong_once: Path, tmp_path: Path) -> Lake:
    """A lake in whose windows every count is wrong."""
    return Lake(spark, str(shutil.copytree(wrong_once, tmp_path / "lake")))


def test_rows_of_the_interval_become_the_oracles_and_no_other_row_changes(wrong: Lake) -> None:
    lake = wrong
    before, right = tables(lake), expected_rows(PACK.records)
    begin, end = middle(right)
    found = backfilled(lake, begin, end)
    after = tables(lake)
    assert set(found) == set(WINDOW_TABLES)
    for table, column in WINDOW_TABLES.items():
        now, others = inside(after[table], column, begin, end)
        assert now == inside(right[table], column, begin, end)[0]
        assert others == inside(before[table], column, begin, end)[1]
        assert found[table].row_count == len(now) > 0
        assert others, "the interval is a part of the table"
    assert all(after[name] == before[name] for name in before if name not in WINDOW_TABLES)

    stood = last(lake)
    again = backfilled(lake, begin, end)
    assert all(table.is_right for table in again.values())
    assert last(lake) == stood, "what is right is not written again"


def middle(right: dict[str, Rows]) -> tuple[datetime, datetime]:
    """An interval that is not aligned with windows, with the middle third of the alerts in it."""
    times = sorted(row["occurred_at"] for row in right["gold.failed_delivery_alerts"])
    first, after = times[len(times) // 3], times[2 * len(times) // 3]
    return EPOCH + timedelta(microseconds=first), EPOCH + timedelta(microseconds=after)


def test_job_goes_on_from_backfilled_windows_with_late_scans_for_them(spark: SparkSession, tmp_path: Path) -> None:
    lake = new_lake(spark, str(tmp_path / "lake"))
    records = [
        *(scan(1, f"10:0{minute}", status="DF", offset=minute) for minute in range(3)),
        scan(1, "10:03", status="DF", offset=3),
        scan(2, "10:04", status="IT", offset=4),
    ]
    now, late = batches(records[:3], records[3:])
    run(lake, spark, records, [now], flows=with_bug(FLOWS))
    day = datetime(2026, 3, 1, tzinfo=UTC)
    backfilled(lake, day, day + timedelta(days=1))
    ledger_row = last(lake)
    run(lake, spark, records, [late.__class__(**{**vars(late), "batch_id": ledger_row.batch_id + 1})])
    assert tables(lake) == expected_rows(records)


def test_boards_follow_the_activity_from_which_they_are_made(spark: SparkSession, tmp_path: Path) -> None:
    assert backfill.chosen(["gold.stop_activity"]) == {"gold.stop_activity", "gold.busiest_stops"}


def test_windows_that_were_removed_stay_away(spark: SparkSession, tmp_path: Path) -> None:
    lake = new_lake(spark, str(tmp_path / "lake"))
    old, new = scan(1, "10:00", day="2024-03-01", offset=0), scan(2, "10:00", day="2026-03-01", offset=1)
    run(lake, spark, [old, new], batches([old, new]))
    expire.expire(last(lake), lake, Ledger(lake), now=datetime(2026, 3, 2, tzinfo=UTC))
    stood = tables(lake)
    found = backfilled(lake, datetime(2024, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    assert all(table.is_right for table in found.values())
    assert tables(lake) == stood


def test_command_compares_first_and_holds_the_lake_only_when_a_row_is_wrong(
    spark: SparkSession, wrong: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def shared_session(_settings: Settings, _name: str) -> Iterator[SparkSession]:
        yield spark

    held = []

    @contextmanager
    def handed_over(root: str) -> Iterator[None]:
        held.append(root)
        yield

    monkeypatch.setattr(backfill, "spark_job", shared_session)
    monkeypatch.setattr(backfill, "handed_over", handed_over)
    settings = Settings(home=tmp_path, lake=str(tmp_path / "lake"))
    lake = wrong
    whole = Backfill(begin=datetime(2020, 1, 1, tzinfo=UTC), end=datetime(2030, 1, 1, tzinfo=UTC))

    before = tables(lake)
    seen = backfill.run(whole.model_copy(update={"dry_run": True}), settings)
    assert not any(table.is_right for table in seen)
    assert (tables(lake), held) == (before, [])

    assert backfill.run(whole, settings) == seen
    assert held == [settings.lake_root]
    assert tables(lake) == expected_rows(PACK.records)

    assert all(table.is_right for table in backfill.run(whole, settings))
    assert held == [settings.lake_root], "nobody waits for what is right"


def test_table_without_windows_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"gold\.remaining_stops has no windows"):
        backfill.chosen(["gold.remaining_stops"])
