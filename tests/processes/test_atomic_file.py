"""A file that many write is one of their texts, whole, and nothing else is left."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipelines.processes.atomic_file import write_whole
from pipelines.state import heartbeat
from pipelines.state.replay_records import Replays
from tests.state.test_replay_records import replay


def test_text_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    for text in ("longer", "new"):
        write_whole(tmp_path / "file", text)
        assert (tmp_path / "file").read_text() == text


def test_writers_at_one_time_do_not_meet(tmp_path: Path) -> None:
    texts = [str(number) * 10_000 for number in range(10)]
    with ThreadPoolExecutor(len(texts)) as pool:
        for _ in range(20):
            list(pool.map(lambda text: write_whole(tmp_path / "file", text), texts))
            assert (tmp_path / "file").read_text() in texts
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_file_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "file", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_heartbeats_and_records_of_replays_do_not_meet_either(tmp_path: Path) -> None:
    replays, root = Replays(str(tmp_path)), str(tmp_path)
    beat = {"at": "2026-01-01T12:00:00+00:00"}
    with ThreadPoolExecutor(8) as pool:
        written = [pool.submit(heartbeat.beat, root, beat) for _ in range(200)]
        written += [pool.submit(replays.save, replay({}, {})) for _ in range(200)]
    assert all(each.exception() is None for each in written)
    assert heartbeat.last_beat(root) is not None
    assert replays.all() == [replay({}, {})]
