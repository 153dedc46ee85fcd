"""What Spark left in a checkpoint, read without Spark's streaming."""

import json
from pathlib import Path

import pytest

from pipelines.errors import LakeMismatch
from pipelines.io.kafka.log import OffsetRange
from pipelines.io.spark.checkpoint import Checkpoint


def write(folder: Path, name: str, *lines: object) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "metadata", {"id": "query"})
    write(tmp_path, "sources/0/0", "\0v1", {"ship-events": {"0": 3, "1": 0}})
    write(tmp_path, "offsets/0", "v1", {"conf": {}}, {"ship-events": {"0": 10, "1": 4}})
    write(tmp_path, "offsets/1", "v1", {"conf": {}}, {"ship-events": {"0": 12, "1": 4}})
    write(tmp_path, "commits/0", "v1", {})
    return tmp_path


def test_batches_follow_each_other_from_the_first_offsets_on(folder: Path) -> None:
    checkpoint = Checkpoint(str(folder))
    assert checkpoint.query_id() == "query"
    assert (checkpoint.last_planned(), checkpoint.last_committed()) == (1, 0)
    assert checkpoint.ranges(0) == (OffsetRange("ship-events", 0, 3, 10), OffsetRange("ship-events", 1, 0, 4))
    assert checkpoint.ranges(1) == (OffsetRange("ship-events", 0, 10, 12), OffsetRange("ship-events", 1, 4, 4))


def test_a_checkpoint_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    checkpoint = Checkpoint(str(tmp_path / "none"))
    assert (checkpoint.query_id(), checkpoint.last_planned(), checkpoint.last_committed()) == (None, None, None)


def test_planned_batches_without_an_identity_are_refused(folder: Path) -> None:
    (folder / "metadata").unlink()
    with pytest.raises(LakeMismatch, match="lost its file `metadata`"):
        Checkpoint(str(folder)).query_id()


@pytest.mark.parametrize(
    ("name", "left"),
    [("metadata", ""), ("offsets/1", ""), ("offsets/1", "v1"), ("offsets/1", 'v1\n{"conf": 1}'), ("commits/0", "")],
)
def test_torn_file_is_refused_by_its_name(folder: Path, name: str, left: str) -> None:
    (folder / name).write_text(left)
    checkpoint = Checkpoint(str(folder))
    with pytest.raises(LakeMismatch, match=name):
        _ = [checkpoint.query_id(), checkpoint.ranges(1), checkpoint.last_committed()]


def test_file_that_others_need_and_is_gone_is_refused_by_its_name(folder: Path) -> None:
    (folder / "offsets" / "0").unlink()
    with pytest.raises(LakeMismatch, match=r"offsets/0 is missing"):
        Checkpoint(str(folder)).ranges(1)


def test_new_one_takes_the_place_of_one_that_is_kept_under_another_name(tmp_path: Path) -> None:
    start = {"ship-events": {0: 7, 1: 9}, "ship-routes": {0: 2}}
    checkpoint = Checkpoint(str(tmp_path / "live"))
    checkpoint.set_aside()
    for query_id in ("first", "second"):
        checkpoint.begin(query_id, start)
        assert checkpoint.query_id() == query_id
        assert checkpoint.start_offsets(0) == start
        assert (checkpoint.last_planned(), checkpoint.last_committed()) == (None, None)
        checkpoint.set_aside()
    aside = [Checkpoint(str(path)) for path in sorted(tmp_path.iterdir())]
    assert [each.query_id() for each in aside] == ["first", "second"]
