"""Which batches the lake can be read at, from ledgers written by delta-rs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.errors import NotFound
from pipelines.io.duckdb.reader import LakeReader
from pipelines.state import snapshots
from pipelines.state.snapshots import is_settled, newest_of, recreated_tables, snapshot

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
MOMENT = pa.timestamp("us", "UTC")
STATE = pa.struct(
    [("table_name", pa.string()), ("version", pa.int64()), ("position", pa.int64()), ("expired_before", MOMENT)]
)
LEDGER = pa.schema(
    [("batch_id", pa.int64()), ("committed_at", MOMENT), ("tables", pa.list_(STATE)), ("replay_id", pa.string())]
)


def batch(
    lake: Path,
    batch_id: int,
    *,
    version: int,
    windows: tuple[int, int] | None = None,
    expired: datetime | None = None,
    replay_id: str | None = None,
) -> None:
    """Adds a row to the ledger: gold.remaining_stops at the version, gold.stop_activity at (version, position)."""
    window_version, window_position = windows or (version, batch_id)
    tables = [
        {"table_name": "gold.remaining_stops", "version": version, "position": batch_id, "expired_before": expired},
        {"table_name": "gold.stop_activity", "version": window_version, "position": window_position},
    ]
    committed_at = NOON + timedelta(minutes=batch_id)
    row = {"batch_id": batch_id, "committed_at": committed_at, "tables": tables, "replay_id": replay_id}
    write_deltalake(lake / "ops" / "batches", pa.Table.from_pylist([row], schema=LEDGER), mode="append")


def test_newest_snapshot_is_the_newest_batch_at_which_all_tables_agree(tmp_path: Path) -> None:
    batch(tmp_path, 0, version=3, expired=NOON)
    batch(tmp_path, 1, version=5, windows=(4, 1), expired=NOON)
    batch(tmp_path, 2, version=6, windows=(4, 1))
    found = snapshot(str(tmp_path))
    assert found.batch_id == 1
    assert found.committed_at == NOON + timedelta(minutes=1)
    assert found.committed_at.tzinfo is UTC
    assert found.versions == {"gold.remaining_stops": 5, "gold.stop_activity": 4}
    assert found.expired_before == {"gold.remaining_stops": NOON, "gold.stop_activity": None}


def test_table_that_a_promotion_brought_stood_nowhere_before_it(tmp_path: Path) -> None:
    """Its rows at an earlier batch are of another history than those of the tables that stood there then."""
    batch(tmp_path, 0, version=3)
    batch(tmp_path, 1, version=4, windows=(3, 0))
    assert is_settled(str(tmp_path))
    batch(tmp_path, 2, version=5, windows=(4, 1), replay_id="fix")
    batch(tmp_path, 3, version=6, windows=(4, 1))
    assert snapshot(str(tmp_path)).versions == {"gold.remaining_stops": 3, "gold.stop_activity": 3}
    assert not is_settled(str(tmp_path))
    with pytest.raises(NotFound, match=r"gold\.stop_activity stood at batch 0"):
        snapshot(str(tmp_path), 1)
    batch(tmp_path, 4, version=7, windows=(5, 3))
    assert snapshot(str(tmp_path)).versions == {"gold.remaining_stops": 6, "gold.stop_activity": 5}
    assert is_settled(str(tmp_path))


def test_table_that_stood_at_a_batch_before_a_promotion_is_read_as_it_was(tmp_path: Path) -> None:
    batch(tmp_path, 0, version=3)
    batch(tmp_path, 1, version=9, windows=(8, 0), replay_id="fix")
    assert snapshot(str(tmp_path), 0).versions == {"gold.remaining_stops": 3, "gold.stop_activity": 3}


def test_older_complete_batch_can_be_named(tmp_path: Path) -> None:
    for number in range(3):
        batch(tmp_path, number, version=number + 3)
    assert snapshot(str(tmp_path), 0).versions == {"gold.remaining_stops": 3, "gold.stop_activity": 3}


def test_incomplete_batch_says_which_table_stood_where_and_which_batches_are_complete(tmp_path: Path) -> None:
    batch(tmp_path, 0, version=1)
    for number in (1, 2, 3):
        batch(tmp_path, number, version=number + 1, windows=(1, 0))
    with pytest.raises(
        NotFound, match=r"^At batch 2 .*: gold\.stop_activity stood at batch 0\. The nearest at which they do: 0\.$"
    ):
        snapshot(str(tmp_path), 2)
    batch(tmp_path, 4, version=5)
    with pytest.raises(NotFound, match=r"The nearest at which they do: 0 and 4\.$"):
        snapshot(str(tmp_path), 2)


@pytest.mark.parametrize("recent", [1, 1_000])
def test_newest_batch_is_the_same_however_few_rows_are_looked_through_first(
    recent: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows after the first that has a table at a batch may have another version of it there, as of a compaction."""
    monkeypatch.setattr(snapshots, "RECENT", recent)
    batch(tmp_path, 0, version=3)
    for number in (1, 2, 3):
        batch(tmp_path, number, version=number + 3, windows=(number + 3, 0))
    root = str(tmp_path)
    assert snapshot(root).versions == {"gold.remaining_stops": 3, "gold.stop_activity": 3}
    found = newest_of(root, ["gold.stop_activity"])
    assert (found.batch_id, found.committed_at, found.versions) == (0, NOON, {"gold.stop_activity": 3})
    batch(tmp_path, 4, version=7)
    assert snapshot(root).batch_id == newest_of(root, ["gold.stop_activity"]).batch_id == 4


def test_ledger_without_a_complete_batch_has_no_snapshot(tmp_path: Path) -> None:
    batch(tmp_path, 0, version=1, windows=(0, -1))
    with pytest.raises(NotFound, match=r"gold\.stop_activity held nothing yet\. There is no consistent batch yet"):
        snapshot(str(tmp_path), 0)
    with pytest.raises(NotFound, match=r"no batch .* at which all tables agree: it holds 0 to 0\."):
        snapshot(str(tmp_path))


def test_unknown_batch_is_answered_with_those_there_are(tmp_path: Path) -> None:
    for number in (0, 1):
        batch(tmp_path, number, version=number)
    with pytest.raises(NotFound, match=r"no batch 2 in the ledger of .*: it holds 0 to 1\."):
        snapshot(str(tmp_path), 2)


def test_lake_without_a_ledger_has_no_snapshot(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="`pts stream` creates them"):
        snapshot(str(tmp_path))


def test_empty_ledger_has_no_snapshot(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "ops" / "batches", LEDGER.empty_table())
    for number in (None, 0):
        with pytest.raises(NotFound, match="it is empty"):
            snapshot(str(tmp_path), number)


def test_batch_before_a_table_was_rebuilt_is_refused_whatever_versions_the_table_has_now(tmp_path: Path) -> None:
    batch(tmp_path, 0, version=1)
    batch(tmp_path, 1, version=9)
    batch(tmp_path, 2, version=10, windows=(0, 1))
    for number in (0, 1):
        with pytest.raises(
            NotFound, match=r"gold\.stop_activity was rebuilt before batch 2; no batch since is consistent yet\."
        ):
            snapshot(str(tmp_path), number)
    batch(tmp_path, 3, version=11, windows=(1, 3))
    batch(tmp_path, 4, version=12, windows=(20, 4))
    for number in (0, 1):
        with pytest.raises(NotFound, match=r"rebuilt before batch 2; the first that can is 3\."):
            snapshot(str(tmp_path), number)
    assert snapshot(str(tmp_path), 3).versions["gold.stop_activity"] == 1


def test_newest_batch_is_refused_when_a_table_was_rebuilt_after_it(tmp_path: Path) -> None:
    batch(tmp_path, 0, version=4)
    batch(tmp_path, 1, version=5, windows=(0, 0))
    with pytest.raises(NotFound, match="Batch 0 can no longer be read"):
        snapshot(str(tmp_path))


def test_table_rebuilt_is_found_with_the_last_batch_that_found_it_so(tmp_path: Path) -> None:
    for number, version in enumerate((5, 0, 1, 0, 7)):
        batch(tmp_path, number, version=number, windows=(version, number))
    root = str(tmp_path)
    assert recreated_tables(root) == {"gold.stop_activity": 3}
    assert recreated_tables(root, after=3) == {}


def test_tables_read_at_a_snapshot_show_the_rows_of_its_batch(tmp_path: Path) -> None:
    for number in range(3):
        reports = pa.table({"tracking_number": [number]})
        write_deltalake(tmp_path / "gold" / "remaining_stops", reports, mode="append")
        batch(tmp_path, number, version=number)
    found = snapshot(str(tmp_path), 1)
    reader = LakeReader(str(tmp_path), found.versions, until_batch=found.batch_id)
    assert reader.query("FROM gold.remaining_stops").num_rows == 2
    assert reader.query("FROM ops.batches").num_rows == 2
