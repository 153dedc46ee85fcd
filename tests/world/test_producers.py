"""Producers that do not keep to what was agreed: told of, and never the end of the job."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.checks import health, verify
from pipelines.errors import LakeMismatch
from pipelines.io.delta.storage import Storage
from pipelines.io.duckdb.reader import LakeReader
from pipelines.state.lake_choices import FILE, check_choices
from tests.oracle.makers import route, scan
from tests.replay.offline import fed

CSV = {"PTS_KAFKA__SHIP_EVENTS_FORMAT": "csv"}


def test_package_in_two_partitions_is_told_of_and_its_repeats_are_dropped(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By two producers, of which one does not use murmur2."""
    made = fed(
        spark,
        tmp_path,
        [
            [scan(1, stop=1, offset=5), scan(2, stop=2, offset=6), route(1, offset=0)],
            [scan(1, stop=1, partition=1, offset=0), scan(1, "10:30", stop=2, partition=1, offset=1)],
        ],
    )
    monkeypatch.setattr(health, "end_offsets", lambda _servers, _topics: {})

    silver = (
        LakeReader(made.settings.lake_root).query("FROM silver.ship_events SELECT tracking_number AS n").to_pylist()
    )
    assert sorted(row["n"] for row in silver) == [1, 1, 2]
    assert verify.run(commands.Verify(), made.settings).topics[0].duplicate_count == 1
    (reading,) = (each for each in health.run(commands.Health(), made.settings) if each.name == "scattered_packages")
    assert (reading.value, reading.is_met) == (1, False)
    assert "murmur2" in reading.sentence()


def test_wire_format_is_chosen_once_and_kept_in_the_lake(spark: SparkSession, tmp_path: Path) -> None:
    storage, root = Storage(spark), str(tmp_path)
    (tmp_path / f"{FILE}.new").write_text("{")  # of a start that was cut off
    for _ in range(2):
        check_choices(storage, root, CSV)
    with pytest.raises(LakeMismatch, match=r"made with PTS_KAFKA__SHIP_EVENTS_FORMAT=csv, and here it is json"):
        check_choices(storage, root, CSV | {"PTS_KAFKA__SHIP_EVENTS_FORMAT": "json"})
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".json"] == [FILE]
