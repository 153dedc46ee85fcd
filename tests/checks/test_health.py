"""Each reading can be beyond its limit, and then says so."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from pipelines.checks import health
from pipelines.commands import Health
from pipelines.contracts.epoch import EPOCH
from pipelines.errors import Unhealthy
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import Offsets
from pipelines.settings import Quality, Seal, Settings
from pipelines.state import heartbeat
from tests.healthy_lake import healthy_lake
from tests.oracle.makers import at

pytestmark = pytest.mark.slow

NOW = EPOCH + timedelta(microseconds=at("12:01"), seconds=20)
"""Soon after the last batch of the healthy lake."""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Of a lake whose job is level with the log."""
    healthy_lake().write(tmp_path / "lake")
    made = Settings(home=tmp_path, quality=Quality(quarantined_share=0.5))
    reached = health.reached(LakeReader(made.lake_root))
    monkeypatch.setattr(health, "end_offsets", lambda _servers, _topics: reached)
    beat(made)
    return made


def beat(settings: Settings, lag_seconds: float = 0.0, seconds_ago: float = 1.0) -> None:
    at = NOW - timedelta(seconds=seconds_ago)
    heartbeat.beat(settings.lake_root, {"at": at.isoformat(), "lag_records": 0, "lag_seconds": lag_seconds})


def unmet(settings: Settings, now: datetime = NOW) -> list[str]:
    return [reading.name for reading in health.run(Health(), settings, now) if not reading.is_met]


def limited(settings: Settings, **limits: float) -> Settings:
    return settings.model_copy(update={"health": settings.health.model_copy(update=limits)})


def test_healthy_system_meets_every_limit_and_its_readings_are_json(settings: Settings) -> None:
    readings = health.run(Health(), settings, NOW)
    health.raise_if_beyond(readings)
    told = {each["name"]: each for each in json.loads(json.dumps([reading.as_json() for reading in readings]))}
    assert told["heartbeat_seconds"]["value"] == 1.0
    assert told["lag_records"]["value"] == 0
    assert told["lag_seconds"]["value"] == 1.0
    assert told["quarantine_ratio"]["value"] > 0
    assert all(each["is_met"] for each in told.values())


def test_job_that_speaks_while_it_is_looked_at_was_silent_for_no_time(settings: Settings) -> None:
    beat(settings, lag_seconds=2.0, seconds_ago=-0.1)
    told = {reading.name: reading.value for reading in health.run(Health(), settings, NOW)}
    assert (told["heartbeat_seconds"], told["lag_seconds"]) == (0.0, 2.0)


def test_silent_job_and_one_that_never_spoke_are_told(settings: Settings) -> None:
    beat(settings, seconds_ago=61)
    assert unmet(settings) == ["heartbeat_seconds"]
    (Path(settings.lake_root) / "_live.heartbeat").unlink()
    assert unmet(settings) == ["heartbeat_seconds", "lag_seconds"]


def test_job_that_is_behind_is_told_in_records_and_in_seconds(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached = health.reached(LakeReader(settings.lake_root))
    ahead: Offsets = {topic: {part: end + 6 for part, end in parts.items()} for topic, parts in reached.items()}
    monkeypatch.setattr(health, "end_offsets", lambda _servers, _topics: ahead)
    assert unmet(limited(settings, lag_records=3)) == ["lag_records"]
    beat(settings, lag_seconds=300)
    assert unmet(settings) == ["lag_seconds"]


def test_lag_counts_no_partition_that_is_ahead_and_the_job_may_go_on_meanwhile(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def reached(_reader: LakeReader) -> Offsets:
        asked.append("ledger")
        return {"a": {0: 5, 1: 5}}

    def end_offsets(_connection: Connection, _topics: list[str]) -> Offsets:
        asked.append("log")
        return {"a": {0: 2, 1: 9}}

    monkeypatch.setattr(health, "reached", reached)
    monkeypatch.setattr(health, "end_offsets", end_offsets)
    (lag,) = (each.value for each in health.run(Health(), settings, NOW) if each.name == "lag_records")
    assert lag == 4
    assert asked == ["ledger", "log"]


def test_records_that_wait_to_be_sealed_are_counted(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of one partition was moved yet, of another up to offset 7; of the third, what was moved is gone."""
    intake, routes = "ship-events-intake", "ship-routes-intake"
    ends = {intake: {0: 4, 1: 9, 2: 30}, routes: {0: 0}}
    reached = health.reached(LakeReader(settings.lake_root))
    monkeypatch.setattr(health, "end_offsets", lambda _, names: ends if intake in names else reached)
    monkeypatch.setattr(health, "begin_offsets", lambda *_: {intake: {0: 1, 1: 2, 2: 30}, routes: {0: 0}})
    monkeypatch.setattr(health, "group_offsets", lambda *_: {intake: {1: 7, 2: 30}, routes: {}})
    sealing = settings.model_copy(update={"seal": Seal(enabled=True)})
    (found,) = (each for each in health.run(Health(), sealing, NOW) if each.name == "unsealed_records")
    assert (found.value, found.is_met) == (5, True)
    assert "unsealed_records" in unmet(limited(sealing, lag_records=4))
    assert "unsealed_records" not in {each.name for each in health.run(Health(), settings, NOW)}


def test_table_that_does_not_follow_is_named(settings: Settings) -> None:
    """The windows of the healthy lake lack its last batch."""
    (reading,) = (
        each
        for each in health.run(Health(), limited(settings, freshness_seconds=19), NOW)
        if each.name == "freshness_seconds"
    )
    assert reading.subject is not None
    assert reading.subject.startswith("gold.")
    assert not reading.is_met
    assert unmet(settings) == []


def test_share_of_rejects_counts_the_last_hour_alone(settings: Settings) -> None:
    strict = settings.model_copy(update={"quality": Quality(quarantined_share=0.01)})
    assert unmet(strict) == ["quarantine_ratio"]
    assert unmet(strict, NOW + timedelta(hours=2)) == ["heartbeat_seconds", "lag_seconds", "freshness_seconds"]


def test_table_of_many_files_is_named_with_the_remedy(settings: Settings) -> None:
    with pytest.raises(Unhealthy, match=r"file_count of \S+ is \d+, at most 0 is right: `pts compact`"):
        health.raise_if_beyond(health.run(Health(), limited(settings, file_count=0), NOW))


def test_files_of_the_quality_table_count_where_there_is_one(settings: Settings) -> None:
    folder = Path(settings.lake_root) / "ops" / "quality"
    for _ in range(50):
        write_deltalake(str(folder), pa.table({"batch_id": [1]}), mode="append")
    with pytest.raises(Unhealthy, match=r"file_count of ops\.quality is 50, at most 49"):
        health.raise_if_beyond(health.run(Health(), limited(settings, file_count=49), NOW))
