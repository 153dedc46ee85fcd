"""Producers that do not keep to what was agreed: told of, and never the end of the job."""

import io
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from rich.console import Console

from pipelines import commands
from pipelines.checks import health, verify
from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.examples import ACCEPTED, WIRE_FORMATS, load_examples
from pipelines.contracts.scan_values import told
from pipelines.errors import LakeMismatch
from pipelines.io.duckdb.reader import LakeReader
from pipelines.queries.explain import explanation
from pipelines.settings import Kafka, Settings
from pipelines.state.lake_choices import FILE, check_choices, keep_choices
from pipelines.terminal.package import explanation_page
from pipelines.terminal.page import show
from tests.oracle.judge import judge
from tests.oracle.makers import route, scan
from tests.oracle.records import LogRecord
from tests.replay.offline import fed

OTHERS = {"ship_events_format": "json", "ship_routes_format": "json", "times_without_offset": "quarantine"}


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


def test_corrected_scan_is_counted_and_shown_although_the_first_one_counts(spark: SparkSession, tmp_path: Path) -> None:
    """Of the same identity, from another city; beside a true repeat."""
    first = scan(1, stop=1, offset=0, place='US,NY,"New York, NY",10001')
    made = fed(
        spark,
        tmp_path,
        [
            [first, replace(first, offset=1), route(1, offset=0)],
            [scan(1, stop=1, offset=2, place="DE,,Köln,", carrier="DHL"), scan(1, "10:30", stop=2, offset=3)],
        ],
    )

    assert verify.run(commands.Verify(), made.settings).correction_count == 1
    explained = explanation(1, made.settings)
    assert [(each.coordinates, each.repeats) for each in explained.repeats] == [
        ("ship-events/0@1", "ship-events/0@0"),
        ("ship-events/0@2", "ship-events/0@0"),
    ]
    assert [dict(each.differs) for each in explained.repeats] == [
        {},
        {
            "carrier_code": ("UPS", "DHL"),
            "country": ("US", "DE"),
            "state": ("NY", None),
            "city": ("New York, NY", "Köln"),
            "postal_code": ("10001", None),
        },
    ]
    told_as_text = io.StringIO()
    show(explanation_page(explained), Console(file=told_as_text, width=200))
    assert "city: Köln, not New York, NY" in told_as_text.getvalue()
    assert explained.as_json()["repeats"][1]["differs"]["city"] == {"counts": "New York, NY", "told": "Köln"}


@pytest.mark.parametrize("wire_format", WIRE_FORMATS)
def test_values_are_told_as_the_rules_read_them(wire_format: str) -> None:
    """For every accepted example, by the oracle."""
    examples = [each for each in load_examples("ship-events", wire_format) if each.verdict == ACCEPTED]
    assert len(examples) > 30
    for each in examples:
        record = LogRecord("ship-events", 0, 0, each.timestamp_ms, each.key, each.value)
        row = judge(record, wire_format)
        found = told(each.value or b"", wire_format)
        found["occurred_at"] = (found["occurred_at"] - EPOCH) // timedelta(microseconds=1)
        assert found == {name: row[name] for name in found}, each.name


def kafka(lake: Path, **chosen: Any) -> Settings:
    return Settings(home=lake, lake=str(lake), kafka=Kafka(**chosen))


def test_what_changes_the_meaning_of_rows_is_chosen_once_and_kept_in_the_lake(tmp_path: Path) -> None:
    csv, root = kafka(tmp_path), str(tmp_path)
    (tmp_path / f"{FILE}.new").write_text("{")  # of a start that was cut off
    check_choices(root, csv, is_new=True)
    assert not (tmp_path / FILE).exists(), "nothing is kept before the start is accepted"
    for settings in (csv, kafka(tmp_path, ship_events_format="json")):
        keep_choices(root, settings)
        check_choices(root, csv, is_new=False)
    for variable, other in OTHERS.items():
        with pytest.raises(LakeMismatch, match=rf"made with PTS_KAFKA__{variable.upper()}=\w+, and here it is {other}"):
            check_choices(root, kafka(tmp_path, **{variable: other}), is_new=False)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".json"] == [FILE]


def test_lake_from_before_the_choice_took_times_without_an_offset_as_utc(tmp_path: Path) -> None:
    strict, root = kafka(tmp_path, times_without_offset="quarantine"), str(tmp_path)
    check_choices(root, strict, is_new=True)
    (tmp_path / FILE).write_text('{"PTS_KAFKA__SHIP_EVENTS_FORMAT": "csv", "PTS_KAFKA__SHIP_ROUTES_FORMAT": "csv"}')
    for _ in ("one that keeps the choices of its time", "one that keeps none"):
        check_choices(root, kafka(tmp_path), is_new=False)
        with pytest.raises(LakeMismatch, match=r"made with PTS_KAFKA__TIMES_WITHOUT_OFFSET=utc"):
            check_choices(root, strict, is_new=False)
        (tmp_path / FILE).unlink(missing_ok=True)
