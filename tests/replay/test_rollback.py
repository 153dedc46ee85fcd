"""Which promotion can be rolled back, from ledgers written by delta-rs."""

from pathlib import Path

import pytest

from pipelines.errors import NotFound
from pipelines.replay.rollback import raise_if_not_newest
from pipelines.state.replay_records import Promotion
from tests.state.test_replay_records import replay
from tests.state.test_snapshots import NOON, batch


def can_go_back(lake: Path, batch_id: int) -> bool:
    promotion = Promotion(
        begun_at=NOON, batch_id=batch_id, way_back_to=0, before={}, shadow_versions={}, positions={}, done_at=NOON
    )
    try:
        raise_if_not_newest(replay({}, {}), promotion, str(lake))
    except NotFound:
        return False
    return True


def test_promotion_is_rolled_back_only_while_no_later_one_stands(tmp_path: Path) -> None:
    for number, name in enumerate((None, "fix", None, "redrive-2")):
        batch(tmp_path, number, version=number, replay_id=name)
    assert [number for number in range(4) if can_go_back(tmp_path, number)] == [3]
    batch(tmp_path, 4, version=4, replay_id="back-3")
    assert [number for number in range(5) if can_go_back(tmp_path, number)] == [1]
    batch(tmp_path, 5, version=5, replay_id="back-1")
    assert [number for number in range(6) if can_go_back(tmp_path, number)] == []
    batch(tmp_path, 6, version=6, replay_id="fix")
    assert [number for number in range(7) if can_go_back(tmp_path, number)] == [6]


def test_refusal_names_the_promotion_that_goes_first(tmp_path: Path) -> None:
    for number, name in enumerate(("fix", "redrive-2")):
        batch(tmp_path, number, version=number, replay_id=name)
    promotion = Promotion(
        begun_at=NOON, batch_id=0, way_back_to=0, before={}, shadow_versions={}, positions={}, done_at=NOON
    )
    with pytest.raises(NotFound, match="is not the newest that stands: that is redrive-2, by batch 1"):
        raise_if_not_newest(replay({}, {}), promotion, str(tmp_path))
