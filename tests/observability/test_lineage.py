"""Events say who read and wrote what, at which versions; and are never why a command fails."""

import inspect
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.event_v2 import RunState

from pipelines import commands
from pipelines.cli import history, main, operations
from pipelines.commands import Command
from pipelines.errors import Interrupted, LakeMismatch
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka.log import OffsetRange
from pipelines.observability.job_lineage import JobLineage, SealLineage
from pipelines.observability.lineage import LineageRun, told_of
from pipelines.observability.sealed_batch import SealedBatch
from pipelines.observability.touched import touched
from pipelines.settings import Lineage, Settings
from pipelines.state.ledger import Ledger, LedgerRow
from pipelines.state.replay_records import Replay, Replays, Step
from pipelines.tables import TABLES
from tests.healthy_lake import healthy_lake
from tests.lineage import events, read_of, validated, versions

NOW = datetime(2026, 3, 1, tzinfo=UTC)
GIVEN: dict[type[Command], dict[str, Any]] = {
    commands.Rebuild: {"tables": ("gold.stop_activity",)},
    commands.Expire: {},
    commands.Compact: {},
    commands.Verify: {},
    commands.Check: {},
    commands.Backfill: {"begin": NOW, "end": NOW.replace(day=2)},
    commands.ReplayBuild: {"replay_id": "fix"},
    commands.ReplayCompare: {"replay_id": "fix"},
    commands.ReplayPromote: {"replay_id": "fix"},
    commands.ReplayRollback: {"replay_id": "fix"},
    commands.ReplayVerify: {},
    commands.QuarantineRedrive: {"reasons": ("bad_type",)},
    commands.Erase: {"tracking_number": 4711},
}
"""The commands of which lineage is told, beside the job and sealing."""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a home with the healthy lake, and a replay of it."""
    made = Settings(home=tmp_path, lineage=Lineage(enabled=True, every_seconds=10))
    healthy_lake().write(Path(made.lake_root))
    Replays(made.lake_root).save(
        Replay(
            replay_id="fix",
            created_at=NOW,
            fence=3,
            begin={"ship-events": {0: 0, 1: 2}},
            steps=(
                Step(end={"ship-events": {0: 5, 1: 4}}, batch_id=3),
                Step(end={"ship-events": {0: 9, 1: 4}}, batch_id=4),
            ),
            max_records=10,
            code="0",
        )
    )
    healthy_lake().write(Path(made.lake_root, "_shadow", "fix"))
    return made


def last_row(settings: Settings) -> LedgerRow:
    row = Ledger(Lake(None, settings.lake_root)).last()
    assert row is not None
    return row


def test_commands_that_are_told_of_are_those_of_which_it_is_known_what_they_touch() -> None:
    """A command that writes tables and calls its job in another way would not be in the events."""
    told = (inspect.getsource(module).count("told(job.run, command)") for module in (history, main, operations))
    assert sum(told) == len(GIVEN)
    with pytest.raises(TypeError, match="Health"):
        touched(commands.Health(), Settings())


@pytest.mark.parametrize("kind", GIVEN, ids=lambda kind: kind.__name__)
def test_each_command_tells_when_it_begins_and_ends(kind: type[Command], settings: Settings) -> None:
    command = kind(**GIVEN[kind])
    with told_of(command, settings):
        pass
    begin, end = events(settings.lineage_file)
    assert (begin["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert begin["run"]["runId"] == end["run"]["runId"]
    assert begin["job"]["name"] == ".".join(("pts", *command.words))
    assert bool(begin["inputs"]) == (kind is not commands.Erase)
    wanted = touched(command, settings)
    assert [each["name"] for each in end["outputs"]] == [
        *wanted.writes,
        *(each.path for each in wanted.outputs if Path(each.path).exists()),
    ]
    assert all("version" in each["facets"] for each in end["outputs"] if each["namespace"] == "file")


def test_erasure_does_not_say_of_whom(settings: Settings) -> None:
    with told_of(commands.Erase(tracking_number=987_654_321_987), settings):
        pass
    assert [(each["namespace"], each["name"]) for each in events(settings.lineage_file)[0]["outputs"]] == [
        (f"kafka://{settings.bootstrap_servers}", "package-reports")
    ]
    assert "987654321987" not in settings.lineage_file.read_text()


def test_tables_are_described_once_and_have_the_version_that_came_of_it(settings: Settings) -> None:
    with told_of(commands.Rebuild(tables=("gold.remaining_stops",)), settings):
        healthy_lake().write(Path(settings.lake_root))  # two more versions
    begin, end = events(settings.lineage_file)
    assert versions(settings.lake_root, begin) == {"gold.remaining_stops": 1}
    assert versions(settings.lake_root, end) == {"gold.remaining_stops": 3}
    described = begin["outputs"][0]["facets"]
    table = next(table for table in TABLES if table.name == "gold.remaining_stops")
    assert [field["name"] for field in described["schema"]["fields"]] == list(table.column_names)
    assert described["documentation"]["description"] == table.doc
    assert described["storage"]["storageLayer"] == "delta"
    assert set(end["outputs"][0]["facets"]) == {"version"}


def test_dry_run_writes_nothing(settings: Settings) -> None:
    for command in (commands.Compact(dry_run=True), commands.Expire(dry_run=True)):
        assert touched(command, settings).outputs == ()


def test_replay_has_read_what_its_record_covers(settings: Settings) -> None:
    with told_of(commands.ReplayBuild(replay_id="fix"), settings):
        pass
    assert read_of(events(settings.lineage_file)[-1]) == [("ship-events", 0, 0, 9), ("ship-events", 1, 2, 4)]


@pytest.mark.parametrize(
    ("error", "state", "said"),
    [
        (LakeMismatch("Table gold.stop_activity lacks a file."), "FAIL", "Table gold.stop_activity lacks a file."),
        (ValueError("a row: Lisboa"), "FAIL", "ValueError"),
        (Interrupted("It was stopped."), "ABORT", "It was stopped."),
        (KeyboardInterrupt(), "ABORT", "KeyboardInterrupt"),
    ],
)
def test_how_a_command_ended_is_told_without_values_of_rows(
    settings: Settings, error: BaseException, state: str, said: str
) -> None:
    with pytest.raises(type(error)), told_of(commands.Verify(), settings):
        raise error
    last = events(settings.lineage_file)[-1]
    assert last["eventType"] == state
    assert last["run"]["facets"]["errorMessage"]["message"] == said


def test_what_cannot_be_told_is_a_warning_and_the_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    nowhere = Settings(home=tmp_path, lineage=Lineage(enabled=True, file=tmp_path / "file" / "events.jsonl"))
    with told_of(commands.Verify(), nowhere):
        pass
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert all(line.startswith("pts: warning: lineage is not told: ") for line in told)


def test_events_of_many_runs_at_once_are_whole_lines_and_nobody_elses(settings: Settings) -> None:
    def tell() -> None:
        for _ in range(5):
            LineageRun(commands.Verify(), settings).tell(RunState.START)

    threads = [threading.Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(events(settings.lineage_file)) == 20
    assert settings.lineage_file.stat().st_mode & 0o777 == 0o600


def job(settings: Settings, clock: Callable[[], float], *rows: LedgerRow, error: BaseException | None = None) -> None:
    made = JobLineage(commands.Stream(), settings, clock)
    made.__enter__()
    for row in rows:
        made.batch_done(row, 1.0, {})
    made.__exit__(type(error), error, None)


def test_job_tells_now_and_then_of_all_batches_since(settings: Settings) -> None:
    row, moments = last_row(settings), iter([0.0, 4.0, 8.0, 12.0, 12.0, 13.0])

    def batch(number: int) -> LedgerRow:
        return replace(row, batch_id=number, ranges=(OffsetRange("ship-events", 0, number * 10, number * 10 + 10),))

    job(settings, lambda: next(moments), *map(batch, (5, 6, 7, 8)))
    begin, running, end = events(settings.lineage_file)
    assert begin["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    assert running["eventType"] == "RUNNING"
    assert read_of(running) == [("ship-events", 0, 50, 80)]
    assert {name: running["run"]["facets"]["pts_batches"][name] for name in ("first", "last")} == {
        "first": 5,
        "last": 7,
    }
    assert end["eventType"] == "COMPLETE"
    assert read_of(end) == [("ship-events", 0, 80, 90)]
    assert {name: version for name, version in versions(settings.lake_root, end).items() if name in row.tables} == {
        name: state.version for name, state in row.tables.items()
    }


def test_sealing_tells_what_it_has_read_of_the_intake_topics(settings: Settings) -> None:
    moments = iter([0.0, 4.0, 12.0, 12.0, 13.0])
    with SealLineage(commands.Seal(), settings, lambda: next(moments)) as sealing:
        for first in (0, 10, 20):
            sealing.batch_done(SealedBatch({}, (("ship-events-intake", 0, first, first + 10),), {}))
            sealing.batch_done(SealedBatch({}, (), {}))
    begin, running, end = events(settings.lineage_file)
    assert [each["eventType"] for each in (begin, running, end)] == ["START", "RUNNING", "COMPLETE"]
    assert begin["job"]["facets"]["jobType"]["processingType"] == "STREAMING"
    assert [each["name"] for each in begin["inputs"]] == ["ship-events-intake", "ship-routes-intake"]
    assert [each["name"] for each in begin["outputs"]] == ["ship-events", "ship-routes"]
    assert read_of(running) == [("ship-events-intake", 0, 0, 20)]
    assert read_of(end) == [("ship-events-intake", 0, 20, 30)]


def test_job_that_fails_tells_that_and_its_last_batches(settings: Settings) -> None:
    job(settings, lambda: 0.0, last_row(settings), error=LakeMismatch("A table was changed."))
    last = events(settings.lineage_file)[-1]
    assert (last["eventType"], last["run"]["facets"]["errorMessage"]["message"]) == ("FAIL", "A table was changed.")
    assert last["run"]["facets"]["pts_batches"]["last"] == last_row(settings).batch_id


@pytest.mark.parametrize("spoil", ["eventTime", "runId", "facet", "member"])
def test_event_that_is_not_as_the_client_has_it_is_noticed(settings: Settings, spoil: str) -> None:
    with told_of(commands.Verify(), settings):
        pass
    event = events(settings.lineage_file)[0]
    if spoil == "eventTime":
        event["eventTime"] = "yesterday"
    elif spoil == "runId":
        event["run"]["runId"] = "1"
    elif spoil == "facet":
        event["inputs"][0]["facets"]["version"]["_schemaURL"] = "https://example.org"
    else:
        event["inputs"][0]["facets"]["version"]["number"] = 3
    with pytest.raises((ValueError, KeyError, TypeError)):
        validated(event)
