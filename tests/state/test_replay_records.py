"""A replay's record: what it reads is the same at every start, and covers its stretch of the log exactly."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.errors import AnotherWriter, InvalidInput, LakeMismatch, NotFound
from pipelines.io.kafka.log import OffsetRange, Offsets, divided
from pipelines.state.replay_records import Promotion, Replay, Replays, Step

OFFSETS = st.lists(st.integers(0, 50), min_size=2, max_size=2)


def replay(begin: Offsets, *ends: Offsets, max_records: int = 10, replay_id: str = "one") -> Replay:
    return Replay(
        replay_id=replay_id,
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
        fence=7,
        begin=begin,
        steps=tuple(Step(end=end, batch_id=10 + number) for number, end in enumerate(ends)),
        max_records=max_records,
        code="0",
    )


@given(OFFSETS, st.lists(OFFSETS, min_size=1, max_size=3), st.integers(1, 20))
def test_batches_cover_every_partition_without_gap_or_overlap(
    first: list[int], growth: list[list[int]], max_records: int
) -> None:
    position, ends = dict(enumerate(first)), []
    for more in growth:
        position = {partition: offset + more[partition] for partition, offset in position.items()}
        ends.append({"a": position})
    made = replay({"a": dict(enumerate(first))}, *ends, max_records=max_records)
    reached = dict(enumerate(first))
    for step, ranges in made.batches():
        assert sum(part.size for part in ranges) <= max_records + len(ranges)
        assert [part.partition for part in ranges] == [0, 1]
        for part in ranges:
            assert part.start == reached[part.partition]
            assert part.end <= ends[step]["a"][part.partition]
            reached[part.partition] = part.end
    assert reached == ends[-1]["a"]


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 60))
def test_what_kafka_deleted_is_read_from_bronze_and_the_rest_from_kafka(start: int, size: int, begin: int) -> None:
    gone, there = divided([OffsetRange("a", 0, start, start + size)], {"a": {0: begin}})
    assert all(offset < begin for part in gone for offset in range(part.start, part.end))
    assert all(offset >= begin for part in there for offset in range(part.start, part.end))
    assert [offset for part in (*gone, *there) for offset in range(part.start, part.end)] == list(
        range(start, start + size)
    )


def test_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    replays = Replays(str(tmp_path))
    limit = datetime(2026, 2, 1, tzinfo=UTC)
    made = replay({"a": {0: 0}}, {"a": {0: 5}})
    step = Step(end={"a": {0: 5}}, batch_id=7, expired_before={"gold.stop_activity": limit})
    made = made.model_copy(update={"steps": (step,)})
    replays.save(made)
    assert replays.load("one") == made
    assert replays.all() == [made]


def test_end_of_a_step_is_the_end_of_a_batch_of_the_live_ledger() -> None:
    made = replay({"a": {0: 0}}, {"a": {0: 5}}, {"a": {0: 9}}, {"a": {0: 9}})
    assert [made.live_batch({"a": {0: offset}}) for offset in (5, 9, 7, 0)] == [10, 12, None, None]
    from_live = made.model_copy(update={"base": {"gold.remaining_stops": 3}})
    assert from_live.live_batch({"a": {0: 0}}) == 7


def test_dropped_replay_is_gone_with_its_folder(tmp_path: Path) -> None:
    replays = Replays(str(tmp_path))
    replays.save(replay({}, {}))
    replays.drop("one")
    assert not Path(replays.root("one")).exists()
    with pytest.raises(NotFound, match=r"no replay one\. There is: none"):
        replays.drop("one")


def test_replay_whose_drop_was_cut_off_is_none_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tables may be gone by half."""
    replays = Replays(str(tmp_path))
    replays.save(replay({}, {}))
    left = Path(replays.root("one"), "silver", "part.parquet")
    left.parent.mkdir()
    left.touch()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        replays.drop("one")
    monkeypatch.undo()
    assert left.exists()
    assert replays.all() == []
    replays.drop("one")
    assert not left.exists()


def test_torn_record_is_named_and_can_be_dropped(tmp_path: Path) -> None:
    replays = Replays(str(tmp_path))
    replays.save(replay({}, {}))
    (Path(replays.root("one")) / "replay.json").write_text("{")
    with pytest.raises(LakeMismatch, match="pts replay drop one"):
        replays.load("one")
    replays.drop("one")


def test_replay_whose_promotion_was_cut_off_cannot_be_dropped_even_if_its_record_is_of_other_code(
    tmp_path: Path,
) -> None:
    replays, moment = Replays(str(tmp_path)), datetime(2026, 3, 1, tzinfo=UTC)
    under_way = Promotion(
        begun_at=moment, batch_id=8, way_back_to=7, before={}, shadow_versions={}, positions={}, done_at=None
    )
    made = replay({}, {}).model_copy(update={"promotions": (under_way,)})
    replays.save(made)
    record = Path(replays.root("one")) / "replay.json"
    with pytest.raises(LakeMismatch, match="pts replay promote one"):
        replays.drop("one")
    record.write_text(record.read_text().replace('"way_back_to"', '"of_other_code"'))
    assert replays.cut_off() == ["one"]
    with pytest.raises(LakeMismatch, match="pts replay promote one"):
        replays.drop("one")
    replays.save(made.model_copy(update={"promotions": (under_way.model_copy(update={"done_at": moment}),)}))
    assert replays.cut_off() == []
    replays.drop("one")


@pytest.mark.parametrize("name", ["", "../lake", "Upper", "a b", "-a", "_live.lock", "a" * 64])
def test_what_cannot_be_a_folder_of_a_replay_is_no_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        Replays(str(tmp_path)).root(name)


def test_second_command_on_replays_is_refused(tmp_path: Path) -> None:
    replays = Replays(str(tmp_path))
    with replays.one_at_a_time(), pytest.raises(AnotherWriter), replays.one_at_a_time():
        pass
