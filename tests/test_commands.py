"""The arguments that a command gives for itself parse back to the same command."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from pydantic import ValidationError
from typer.testing import CliRunner

from pipelines import commands
from pipelines.cli import main as cli
from pipelines.cli.parameters import takes
from pipelines.commands import Option
from pipelines.contracts.rules import Reason
from pipelines.errors import InvalidInput

COMMANDS = [
    commands.Stream(),
    commands.Stream(drain=True),
    commands.Stream(drain=True, new_checkpoint=True),
    commands.Stream(standby=True),
    commands.Simulate(),
    commands.Simulate(seed=7, packages=10, rate=0, count=500),
    commands.Simulate(rate=0.5, duration_seconds=90.25, start=datetime(2025, 3, 4, 5, 6, 7, 8, tzinfo=UTC)),
    commands.Simulate(resume=True),
    commands.Topics(),
    commands.Seal(),
    commands.Seal(drain=True, new_keys=True, skip_lost=True),
    commands.Erase(tracking_number=42),
    commands.Sql(query="SELECT 'a b', \"c\" FROM t -- note"),
    commands.Sql(query="-- note\nSELECT 1", engine="spark"),
    commands.Sql(query="SELECT 1", at_batch=0),
    commands.Snapshot(),
    commands.Snapshot(at_batch=0),
    commands.Report(tracking_number=42),
    commands.Report(tracking_number=42, explain=True),
    commands.Judge(topic="ship-events"),
    commands.Judge.model_validate(
        {"topic": "ship-events", "file": "-a b", "wire_format": "json", "key": "-42"}
        | {"timestamp": "2026-03-01T10:00:00"}
    ),
    commands.Judge(topic="ship-routes", file="routes.json", given_as="records"),
    commands.Rebuild(tables=("gold.stop_activity", "gold.busiest_stops")),
    commands.Expire(),
    commands.Expire(dry_run=True),
    commands.Compact(),
    commands.Compact(dry_run=True),
    commands.Verify(),
    commands.Check(),
    commands.Check(tables=("silver.ship_events", "ops.batches"), at_batch=7),
    commands.Backfill(begin=datetime(2026, 1, 1, tzinfo=UTC), end=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
    commands.Backfill(
        begin=datetime(2026, 1, 1, tzinfo=UTC),
        end=datetime(2026, 1, 2, tzinfo=UTC),
        tables=("gold.stop_activity", "gold.carrier_throughput"),
        dry_run=True,
    ),
    commands.ReplayPlan(),
    commands.ReplayPlan(at_batch=7),
    commands.ReplayBuild(replay_id="fix-1"),
    commands.ReplayBuild(replay_id="fix-1", at_batch=7),
    commands.ReplayCompare(replay_id="fix-1"),
    commands.ReplayCompare(replay_id="fix-1", expect=("gold.remaining_stops", "gold.x.y"), html="page.html"),
    commands.ReplayPromote(replay_id="fix-1"),
    commands.ReplayRollback(replay_id="fix-1"),
    commands.ReplayVerify(),
    commands.ReplayVerify(at_batch=7),
    commands.ReplayDrop(replay_id="fix-1"),
    commands.QuarantineShow(reason=Reason.MALFORMED, limit=3),
    commands.QuarantineRedrive(reasons=(Reason.MALFORMED, Reason.TOO_LATE)),
    commands.QuarantineRedrive(reasons=(Reason.EMPTY,), dry_run=True),
    commands.Health(),
    commands.Requests(),
    commands.Alert(subject="-a b", text="-c"),
    commands.Alert(subject="watch_stream failed"),
    commands.Api(),
    commands.Board(),
    commands.SqlServer(),
    commands.Broker(),
    commands.Airflow(arguments=("api-server",)),
    commands.Airflow(arguments=("backfill", "create", "--dag-id", "x", "--help")),
]


RUN = (
    *(
        "live.stream",
        "live.topics",
        "live.seal",
        "live.erase",
        "queries.snapshot",
        "checks.verify",
        "checks.health",
        "checks.alert",
        "checks.judge",
    ),
    *(f"maintenance.{name}" for name in ("rebuild", "expire", "compact", "backfill")),
    *(f"stack.{name}" for name in ("simulate", "broker", "airflow")),
    "api.server",
    "board.server",
    "queries.sql_server",
    *(
        f"replay.{name}"
        for name in ("plan", "build", "compare", "promote", "rollback", "verify", "redrive", "requests")
    ),
)
"""Jobs that have a function `run`."""


class Begun(Exception):
    """Stops a command where its job would begin."""


@pytest.mark.parametrize("command", COMMANDS, ids=repr)
def test_argv_parses_back_to_the_same_command(command: commands.Command, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []

    def job(parameters: Any, _settings: object, *_wired: object, **_also: object) -> Any:
        begun.append(parameters)
        raise Begun

    def report(explain: bool) -> Callable[[int, object], Any]:
        return lambda number, settings: job(commands.Report(tracking_number=number, explain=explain), settings)

    for name in RUN:
        _replace(monkeypatch, name, run=job)
    _replace(monkeypatch, "replay.promote", run=job, promote_with_lease=None)
    _replace(monkeypatch, "check", within="expectations", run=job)
    _replace(monkeypatch, "replay.shadows", drop=job)
    _replace(monkeypatch, "queries.quarantine", shown=job)
    _replace(monkeypatch, "queries.sql", query=job)
    monkeypatch.setattr("pipelines.queries.explain.explanation", report(True))  # first: it takes the other by its name
    monkeypatch.setattr("pipelines.queries.report.package_report", report(False))

    result = CliRunner().invoke(cli.app, command.argv())

    assert isinstance(result.exception, Begun), result.output
    assert begun == [command]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["snapshot", "--batch", "0"], commands.Snapshot(at_batch=0)),
        (["replay", "plan", "--fence", "7"], commands.ReplayPlan(at_batch=7)),
        (
            ["backfill", "--from", "2026-01-01", "--to", "2026-01-02", "--tables", "gold.stop_activity"],
            commands.Backfill.model_validate(
                {"begin": "2026-01-01", "end": "2026-01-02", "tables": ("gold.stop_activity",)}
            ),
        ),
    ],
    ids=lambda given: str(given[0]) if isinstance(given, list) else "",
)
def test_former_names_of_options_are_understood_not_shown_and_not_taken_beside_the_current_ones(
    given: list[str], meant: commands.Command
) -> None:
    taken: list[commands.Command] = []
    app = typer.Typer()
    app.command()(takes(type(meant))(taken.append))
    words, former = len(meant.words), next(each for each in given if each in ("--batch", "--fence", "--tables"))
    current = next(how.name for how in meant.given().values() if isinstance(how, Option) and former in how.former_names)
    assert CliRunner().invoke(app, given[words:]).exit_code == 0
    assert taken == [meant]
    assert former not in CliRunner().invoke(app, ["--help"]).output.replace(current, "")
    refused = CliRunner().invoke(app, [*given[words:], current, given[-1]])
    assert isinstance(refused.exception, InvalidInput)


def test_every_parameter_says_how_it_is_given_and_shows_its_default() -> None:
    for kind in commands.Command.__subclasses__():
        assert kind.words
        assert kind.given().keys() == kind.model_fields.keys()
    shown = CliRunner().invoke(cli.app, ["simulate", "--help"]).output
    assert all(default in shown for default in ("42", "20000", "2000", "2026-01-01"))


def test_declared_differences_are_read_from_a_file_whose_remarks_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun: list[Any] = []

    def job(parameters: Any, _settings: object) -> Any:
        begun.append(parameters)
        raise Begun

    _replace(monkeypatch, "replay.compare", run=job)
    expected = tmp_path / "expected"
    expected.write_text("# as agreed\ngold.remaining_stops.city  # upper case\n\nsilver.quarantine\n")
    CliRunner().invoke(
        cli.app, ["replay", "compare", "fix", "--expect", "gold.busiest_stops", "--expect-file", str(expected)]
    )
    (command,) = begun
    assert command.expect == ("gold.busiest_stops", "gold.remaining_stops.city", "silver.quarantine")


def _replace(monkeypatch: pytest.MonkeyPatch, job: str, *, within: str = "pipelines", **functions: Any) -> None:
    module = ModuleType(f"{within}.{job}")
    module.__dict__.update(functions)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    package, _, name = module.__name__.rpartition(".")
    monkeypatch.setattr(import_module(package), name, module, raising=False)


def test_start_without_an_offset_is_utc_and_one_with_an_offset_keeps_its_instant() -> None:
    bare = commands.Simulate.model_validate({"start": "2026-01-01T12:00:00"})
    offset = commands.Simulate(start=datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))))

    assert bare.start == offset.start == datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (commands.Simulate, {"duration_seconds": 1, "count": 1}),
        (commands.Simulate, {"rate": -1}),
        (commands.Simulate, {"rate": float("inf")}),
        (commands.Simulate, {"packages": 0}),
        (commands.Simulate, {"start": "yesterday"}),
        (commands.Report, {"tracking_number": 0}),
        (commands.Sql, {"query": ""}),
        (commands.Sql, {"query": "SELECT 1", "at_batch": -1}),
        (commands.Judge, {"topic": "package-reports"}),
        (commands.Judge, {"topic": "ship-events", "given_as": "lines", "key": "42"}),
        (commands.Judge, {"topic": "ship-events", "given_as": "records", "timestamp": "2026-03-01T10:00:00"}),
        (commands.Judge, {"topic": "ship-events", "timestamp": "yesterday"}),
        (commands.Judge, {"topic": "ship-events", "file": ""}),
        (commands.Snapshot, {"at_batch": -1}),
        (commands.Snapshot, {"at_batch": 2**63}),
        (commands.Stream, {"drian": True}),
        (commands.Check, {"tables": ("gold.nope",)}),
        (commands.Check, {"tables": ("bronze.ship_events",)}),
        (commands.Check, {"at_batch": -1}),
        (commands.Backfill, {"begin": "2026-01-02", "end": "2026-01-01"}),
        (commands.Backfill, {"begin": "2026-01-01", "end": "2026-01-01T00:00:00Z"}),
        (commands.ReplayBuild, {"replay_id": "../live"}),
        (commands.ReplayBuild, {"replay_id": ""}),
        (commands.ReplayPlan, {"at_batch": -1}),
        (commands.QuarantineRedrive, {"reasons": []}),
        (commands.QuarantineRedrive, {"reasons": ["ugly"]}),
        (commands.QuarantineShow, {"reason": "empty", "limit": 0}),
        (commands.Airflow, {"arguments": ()}),
    ],
)
def test_parameters_that_make_no_sense_are_refused(kind: type[commands.Command], parameters: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        kind(**parameters)


def test_a_command_cannot_be_changed_after_it_was_checked() -> None:
    with pytest.raises(ValidationError):
        commands.Report(tracking_number=1).tracking_number = 0
