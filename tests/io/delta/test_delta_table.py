"""Tables whose logs were damaged: what can be opened is, what cannot be is refused by name."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake import Transaction as AppTransaction
from deltalake.exceptions import CommitFailedError
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipelines.errors import LakeMismatch
from pipelines.io.delta.delta_table import LONG_LOG, OpenTable, Tables, last_checkpoint, opened
from pipelines.io.delta.files import write_checkpoint

NEWEST = LONG_LOG
APPS = ("a", "b")


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


def commit(table: OpenTable, app_id: str, number: int) -> None:
    """A transaction alone; or nothing, where a commit that the table has not seen carries one of the same."""
    try:
        table.commit([], CommitProperties(app_transactions=[AppTransaction(app_id, number)]))
    except CommitFailedError:
        table.update_incremental()


def look_up(table: DeltaTable) -> list[int | None]:
    return [table.transaction_version(app_id) for app_id in APPS]


@settings(max_examples=30)
@example([(0, "look", "a"), (1, "commit", "a"), (0, "update", "a"), (0, "commit", "b")])
@given(
    st.lists(st.tuples(st.sampled_from([0, 1]), st.sampled_from(["commit", "look", "update"]), st.sampled_from(APPS)))
)
def test_transactions_are_those_of_the_log_whoever_commits(steps: list[tuple[int, str, str]]) -> None:
    with TemporaryDirectory() as path:
        append(path, 0)
        tables = opened(path), opened(path)
        for number, (which, what, app_id) in enumerate(steps):
            match what:
                case "commit":
                    commit(tables[which], app_id, number)
                case "look":
                    tables[which].transaction_version(app_id)
                case "update":
                    tables[which].update_incremental()
        for table in tables:
            assert look_up(table) == look_up(DeltaTable(path, table.version()))


def test_own_transactions_are_not_looked_for_and_those_of_others_are(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = DeltaTable.transaction_version

    def noted(table: DeltaTable, app_id: str) -> int | None:
        asked.append(app_id)
        return real(table, app_id)

    monkeypatch.setattr(DeltaTable, "transaction_version", noted)
    table = opened(path)
    assert table.transaction_version("a") is None
    for number in range(3):
        commit(table, "a", number)
        assert table.transaction_version("a") == number
    assert asked == ["a"]
    commit(opened(path), "a", 7)
    table.update_incremental()
    assert table.transaction_version("a") == 7
    assert asked == ["a", "a"]
