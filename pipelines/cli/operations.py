"""The commands that keep the tables right, small and proven, and tell how the system does."""

import json
import sys
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from pipelines import commands
from pipelines.cli.common import INDENTED, AsJson, answer, current_settings, told
from pipelines.cli.parameters import takes


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (rebuild, expire, compact, verify, check, health, alert, requests, judge):
        app.command()(command)


@takes(commands.Rebuild)
def rebuild(command: commands.Rebuild) -> None:
    """Rebuild gold tables from silver, each in one commit. A live job waits meanwhile.

    For example: `pts rebuild gold.stop_activity`
    """
    from pipelines.maintenance import rebuild as job

    told(job.run, command)
    typer.echo(f"Rebuilt: {', '.join(command.tables)}.")


@takes(commands.Expire)
def expire(command: commands.Expire, as_json: AsJson = False) -> None:
    """Remove what is older than its retention, counted from the newest scan. A live job waits meanwhile.

    Packages delivered more than 90 days ago leave `gold.remaining_stops`; windows and alerts go after 400 days. Nothing
    runs this by itself.

    For example: `pts expire --dry-run`
    """
    from pipelines.maintenance import expire as job
    from pipelines.terminal.maintenance import expired_page

    found = told(job.run, command)
    answer(found, partial(expired_page, dry_run=command.dry_run), as_json=as_json, dumps=INDENTED)


@takes(commands.Compact)
def compact(command: commands.Compact, as_json: AsJson = False) -> None:
    """Join small files of the tables, and remove files that nobody needs. The live job may run.

    Files stay for `PTS_COMPACT__RETENTION_HOURS`, and those that a replay or its rollback needs for longer. Run twice,
    it does nothing the second time.

    For example: `pts compact --dry-run`
    """
    from pipelines.maintenance import compact as job
    from pipelines.terminal.maintenance import compacted_page

    answer(told(job.run, command), compacted_page, as_json=as_json)


@takes(commands.Verify)
def verify(command: commands.Verify, as_json: AsJson = False) -> None:
    """Check that every record read is in the tables once, and that all tables agree with silver and the ledger.

    Only reads, and the job may go on. Names the first check that does not hold, and then ends with code 13.

    For example: `pts verify --json`
    """
    from pipelines.checks import verify as job
    from pipelines.terminal.checks import verified_page

    answer(told(job.run, command), verified_page, as_json=as_json)


@takes(commands.Check)
def check(command: commands.Check, as_json: AsJson = False) -> None:
    """Judge the tables as sets, at one batch: grain, reconciliation, news, volume. Results go to `ops.quality`.

    The job may go on. A critical expectation that is not met ends with code 17; a warning does not.

    For example: `pts check --table gold.remaining_stops`
    """
    from expectations import check as job
    from expectations.result import raise_if_failed
    from pipelines.terminal.checks import checked_page

    found = told(job.run, command)
    answer(found, checked_page, as_json=as_json)
    raise_if_failed(found)


@takes(commands.Health)
def health(command: commands.Health, as_json: AsJson = False) -> None:
    """Measure heartbeat, lag, freshness, rejects and files against their limits. Ends with code 16 beyond one.

    Only reads, and needs no Java. The limits are settings: PTS_HEALTH__…

    For example: `pts health --json`
    """
    from pipelines.checks import health as job
    from pipelines.terminal.checks import readings_page

    readings = job.run(command, current_settings())
    answer(readings, readings_page, as_json=as_json)
    job.raise_if_beyond(readings)


@takes(commands.Alert)
def alert(command: commands.Alert) -> None:
    """Send word to those who are on call (PTS_ALERTS__TO: a log, e-mail, a webhook).

    The same, but for numbers, is not sent again for a while (PTS_ALERTS__REPEAT_SECONDS). What cannot be delivered is
    in the log $PTS_HOME/logs/alerts.log.

    For example: `pts alert "Disk nearly full" "90 % of /data is used."`
    """
    from pipelines.checks import alert as job

    current = current_settings()
    was_sent = job.run(command, current)
    typer.echo(
        f"Sent to {job.place(current.alerts.address())}." if was_sent else "Not sent again: it was sent a while ago."
    )


@takes(commands.Requests)
def requests(command: commands.Requests, as_json: AsJson = False) -> None:
    """List the replays that other systems ask for by messages on the topic pts-control. Airflow starts them.

    A message is a JSON object: `{"requestId": "correct-stops", "dryRun": false}`; also `fence` and `expect`.

    For example: `pts requests --json`
    """
    from pipelines.replay import requests as job

    found = job.run(command, current_settings())
    if as_json:
        return typer.echo(json.dumps([job.as_run(request) for request in found]))
    return typer.echo("\n".join(request.model_dump_json(by_alias=True) for request in found) or "Nobody asks.")


@takes(commands.Judge)
def judge(
    command: commands.Judge,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line, the summary last.")] = False,
) -> None:
    """Judge messages before they are sent: what the rules would accept, and what they would quarantine, and why.

    For producers; needs neither broker nor Java nor tables. Ends with code 21 when a message would be quarantined.
    Whether a message repeats another is not judged. An array has records such as
    `{"key": "42", "value": "…", "timestamp": 1772359200000}`; bytes that are no text are `key_base64`, `value_base64`.

    For example: `pts judge ship-events scan.csv --key 42`
    """
    from pipelines.checks import judge as job
    from pipelines.terminal.checks import judged_line, summary_page

    messages = job.run(command, current_settings(), sys.stdin.buffer)
    summary = job.Summary()
    for number, (message, verdict) in enumerate(messages, 1):
        summary.add(message, verdict)
        judged = job.JudgedMessage.of(number, verdict)
        typer.echo(json.dumps(asdict(judged), ensure_ascii=False) if as_json else judged_line(judged))
    answer(summary, summary_page, as_json=as_json)
    summary.raise_if_rejected()
