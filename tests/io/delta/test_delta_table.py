"""Tables whose logs were damaged: what can be opened is, what cannot be is refused by name."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.errors import LakeMismatch
from pipelines.io.delta.delta_table import LONG_LOG, Tables, last_checkpoint, opened
from pipelines.io.delta.files import write_checkpoint

NEWEST = LONG_LOG


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A row in each version, and a checkpoint of the newest."""
    made = str(tmp_path / "table")
    for number in range(NEWEST + 1):
        append(made, number)
    assert write_checkpoint(made)
    return made


def append(path: str, number: int) -> None:
    write_deltalake(path, pa.table({"number": [number]}), mode="append")


def log(path: str, name: str) -> Path:
    return Path(path, "_delta_log", name)


def checkpoint(path: str) -> Path:
    (found,) = Path(path, "_delta_log").glob("*.checkpoint.parquet")
    return found


def numbers(table: DeltaTable) -> set[int]:
    return set(table.to_pyarrow_table()["number"].to_pylist())


def test_checkpoint_that_is_there_stays(path: str) -> None:
    assert numbers(opened(path)) == set(range(NEWEST + 1))
    assert numbers(opened(path, 3)) == set(range(4))
    assert checkpoint(path).exists()
    assert last_checkpoint(path) == NEWEST


def test_checkpoint_that_is_gone_is_forgotten_and_the_next_one_is_written(path: str) -> None:
    checkpoint(path).unlink()
    assert last_checkpoint(path) == NEWEST
    assert numbers(opened(path)) == set(range(NEWEST + 1))
    assert last_checkpoint(path) is None
    assert numbers(DeltaTable(path)) == set(range(NEWEST + 1))
    assert write_checkpoint(path)


@pytest.mark.parametrize("hint", [b"", b'{"version":', b"garbage", b"[]", b"{}", b"\xff"])
def test_hint_that_says_nothing_is_none(path: str, hint: bytes) -> None:
    log(path, "_last_checkpoint").write_bytes(hint)
    assert last_checkpoint(path) is None
    assert numbers(opened(path)) == set(range(NEWEST + 1))
    append(path, NEWEST + 1)
    assert write_checkpoint(path)
    assert last_checkpoint(path) == NEWEST + 1


def test_commit_that_is_torn_is_refused(path: str) -> None:
    commit = log(path, f"{NEWEST:020}.json")
    checkpoint(path).unlink()
    commit.write_bytes(commit.read_bytes()[:-20])
    with pytest.raises(LakeMismatch, match=f"The table at {path} cannot be read: .*Restore the files of its log"):
        opened(path)


def test_log_of_which_only_the_lost_checkpoint_held_the_beginning_is_refused(path: str) -> None:
    checkpoint(path).unlink()
    log(path, f"{0:020}.json").unlink()
    with pytest.raises(LakeMismatch, match=f"The table at {path} cannot be read: .*Restore the files of its log"):
        opened(path)


def test_table_that_stays_open_is_opened_again_before_its_commits_are_many(path: str) -> None:
    """Whoever holds it has it as it was; whoever asks, has all rows."""
    tables = Tables()
    first = tables.newest(path)
    for number in range(NEWEST + 1, NEWEST + LONG_LOG):
        append(path, number)
    assert tables.newest(path) is first
    append(path, NEWEST + LONG_LOG)
    again = tables.newest(path)
    assert again is not first
    assert numbers(again) == set(range(NEWEST + LONG_LOG + 1))
