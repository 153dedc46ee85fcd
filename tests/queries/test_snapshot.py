"""What `pts snapshot` prints."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.commands import Snapshot
from pipelines.errors import NotFound
from pipelines.queries.snapshot import run
from pipelines.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a lake with the batches 0 and 1, after which gold.remaining_stops stood at the versions 4 and 5."""
    rows = [
        {
            "batch_id": batch_id,
            "committed_at": datetime(2024, 5, 1, 12, batch_id, tzinfo=UTC),
            "tables": [{"table_name": "gold.remaining_stops", "version": batch_id + 4, "position": batch_id}],
        }
        for batch_id in (0, 1)
    ]
    ledger = pa.Table.from_pylist(rows).append_column("replay_id", pa.nulls(len(rows), pa.string()))
    write_deltalake(tmp_path / "lake" / "ops" / "batches", ledger)
    return Settings(home=tmp_path)


def test_newest_batch_is_json_with_the_version_of_each_table(settings: Settings) -> None:
    assert json.loads(json.dumps(run(Snapshot(), settings).as_json())) == {
        "batch_id": 1,
        "committed_at": "2024-05-01T12:01:00.000000Z",
        "tables": {"gold.remaining_stops": 5},
    }


def test_named_batch_has_the_versions_of_then(settings: Settings) -> None:
    assert run(Snapshot(at_batch=0), settings).versions == {"gold.remaining_stops": 4}


def test_batch_that_does_not_exist_is_refused(settings: Settings) -> None:
    with pytest.raises(NotFound, match="it holds 0 to 1"):
        run(Snapshot(at_batch=2), settings)
