"""What a replay removes: what the live lake removed, and still has removed."""

from datetime import timedelta
from pathlib import Path

from pipelines.io.duckdb.reader import LakeReader
from pipelines.replay.plan import EXPIRED
from tests.state.test_snapshots import NOON, batch

LATER = NOON + timedelta(hours=1)


def limits(lake: Path) -> list[tuple[int, object]]:
    """Batches, and up to when gold.remaining_stops let its rows go after them."""
    return [(row["batch_id"], row["expired_before"]) for row in LakeReader(str(lake)).query(EXPIRED, [99]).to_pylist()]


def test_rows_are_removed_where_the_live_lake_did(tmp_path: Path) -> None:
    for number, limit in enumerate((None, NOON, NOON, LATER)):
        batch(tmp_path, number, version=number, expired=limit)
    assert limits(tmp_path) == [(1, NOON), (3, LATER)]


def test_what_was_rebuilt_since_is_not_removed(tmp_path: Path) -> None:
    for number, limit in enumerate((NOON, None, LATER)):
        batch(tmp_path, number, version=number, expired=limit)
    assert limits(tmp_path) == [(2, LATER)]


def test_what_a_promotion_brought_back_is_not_removed(tmp_path: Path) -> None:
    """It was built up to a batch before rows were removed; its rollback removes them again."""
    batch(tmp_path, 0, version=0, expired=NOON)
    batch(tmp_path, 1, version=1, expired=LATER)
    batch(tmp_path, 2, version=2, expired=NOON, replay_id="fix")
    assert limits(tmp_path) == [(0, NOON), (2, NOON)]
    batch(tmp_path, 3, version=3, expired=LATER, replay_id="back-2")
    assert limits(tmp_path) == [(0, NOON), (2, NOON), (3, LATER)]
