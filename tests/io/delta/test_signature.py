"""Each commit says which command and code wrote it, and which row of the ledger tells of it."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from pipelines.code_version import fingerprint
from pipelines.io.delta import delta_rs, duck, files
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.running_command import begin_command, in_place_of, running_command
from tests.io.delta.test_lake import COLOURS, rows


@pytest.fixture(autouse=True)
def _restored() -> Any:
    before = running_command()
    yield
    begin_command(before)


def told(lake: Lake) -> list[dict[str, Any]]:
    """What each commit of the table says, oldest first."""
    history = reversed(DeltaTable(lake.path(COLOURS)).history())
    return [json.loads(commit["userMetadata"]) for commit in history]


def test_every_kind_of_commit_is_signed(tmp_path: Path) -> None:
    begin_command("pts stream")
    lake, other = Lake(None, str(tmp_path / "lake")), Lake(None, str(tmp_path / "other"))
    path = lake.path(COLOURS)
    for each in (lake, other):
        each.ensure(COLOURS)
    with closing(duck.cursor()) as cursor:
        for number in range(files.MANY_SMALL):
            lake.append(cursor, rows((number + 1, "red")), COLOURS, Transaction("a/colours", number, batch_id=number))
        lake.merge(cursor, rows((1, "blue")), COLOURS, Transaction("b/colours", 0, batch_id=8))
        lake.delete(cursor, "id = 2", COLOURS, Transaction("c/colours", 0, batch_id=9))
        other.append(cursor, rows((7, "green")), COLOURS, Transaction("a/colours", 0, batch_id=0))
    with in_place_of("pts replay promote"):
        delta_rs.swap_in(path, other.path(COLOURS), 1, Transaction("promote-x/colours", 10, batch_id=10))
    delta_rs.restore(path, 8, Transaction("d/colours", 11, batch_id=11))
    delta_rs.replace_constraint(path, "id_is_positive", "id >= 0")
    delta_rs.set_append_only(DeltaTable(path), path, is_append_only=True)
    delta_rs.set_append_only(DeltaTable(path), path, is_append_only=False)
    files.join(path, COLOURS)
    files.order(path, ["id"])

    found = told(lake)
    assert len(found) == DeltaTable(path).version() + 1
    assert {each["code_version"] for each in found} == {fingerprint()}
    of_batches = [(each["command"], each["batch_id"]) for each in found if each["batch_id"] is not None]
    assert of_batches == [
        *(("pts stream", batch_id) for batch_id in range(10)),
        ("pts replay promote", 10),
        ("pts stream", 11),
    ]
    assert {each["command"] for each in found} == {"pts stream", "pts replay promote"}


def test_which_row_tells_of_a_write_is_no_part_of_its_identity() -> None:
    assert Transaction("a/colours", 1, batch_id=1) == Transaction("a/colours", 1)
