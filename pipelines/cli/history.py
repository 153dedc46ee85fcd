"""`pts replay`, `pts backfill` and `pts quarantine`: the commands that correct history."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines import commands
from pipelines.cli.common import AsJson, answer, current_settings, told
from pipelines.cli.parameters import takes

if TYPE_CHECKING:
    from pipelines.replay.compared import Compared


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    app.add_typer(replay_app, name="replay")
    app.command()(backfill)
    app.add_typer(quarantine_app, name="quarantine")


replay_app = typer.Typer(no_args_is_help=True, help="Correct history: replay the log, compare, promote.")


@replay_app.command("plan")
@takes(commands.ReplayPlan)
def replay_plan(command: commands.ReplayPlan, as_json: AsJson = False) -> None:
    """Show what a replay would read, from where, and what it needs. Writes nothing; refuses what cannot succeed.

    For example: `pts replay plan`
    """
    from pipelines.replay import plan as job
    from pipelines.terminal.replay import plan_page

    answer(job.run(command, current_settings()), plan_page, as_json=as_json)


@replay_app.command("build")
@takes(commands.ReplayBuild)
def replay_build(command: commands.ReplayBuild, as_json: AsJson = False) -> None:
    """Run the log up to the as-of batch through the code of today, into tables of its own. The live job may go on.

    Cut off, it goes on where it was when called again.

    For example: `pts replay build fix`
    """
    from pipelines.replay import build as job
    from pipelines.terminal.replay import built_page

    found = told(job.run, command)
    if as_json:
        return typer.echo(json.dumps({"replay_id": found.replay_id, "fence": found.fence}))
    return answer(found, built_page, as_json=False)


@replay_app.command("compare")
@takes(commands.ReplayCompare)
def replay_compare(
    command: commands.ReplayCompare,
    expect_file: Annotated[
        typer.FileText | None, typer.Option(help="The same, one a line; what follows a # is a remark.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare live and replay, row for row, at one batch. Ends with code 14 when rows differ that were not declared.

    For example: `pts replay compare fix --expect gold.carrier_throughput.scan_count`
    """
    lines = [line.partition("#")[0].strip() for line in expect_file or ()]
    command = command.model_copy(update={"expect": (*command.expect, *filter(None, lines))})
    from pipelines.replay import compare as job

    _answer_compared(told(job.run, command), as_json=as_json)


@replay_app.command("verify")
@takes(commands.ReplayVerify)
def replay_verify(command: commands.ReplayVerify, as_json: AsJson = False) -> None:
    """Prove that the tables are what the log says: replay all of it, compare row for row, and drop the replay.

    Ends with code 14 when a row differs; the replay is kept then.

    For example: `pts replay verify --at-batch 7`
    """
    from pipelines.replay import verify as job

    _answer_compared(told(job.run, command), as_json=as_json)


@replay_app.command("promote")
@takes(commands.ReplayPromote)
def replay_promote(command: commands.ReplayPromote, as_json: AsJson = False) -> None:
    """Put a replay's tables in place of the live ones, one commit each. The live job does it between two batches.

    Cut off, it is finished by the same command.

    For example: `pts replay promote fix`
    """
    from pipelines.replay import promote as job
    from pipelines.terminal.replay import promoted_page

    answer(told(job.run, command), promoted_page, as_json=as_json)


@replay_app.command("rollback")
@takes(commands.ReplayRollback)
def replay_rollback(command: commands.ReplayRollback, as_json: AsJson = False) -> None:
    """Bring back the tables as they were before a replay was promoted, with what the log has told since.

    For example: `pts replay rollback fix`
    """
    from pipelines.replay import rollback as job
    from pipelines.terminal.replay import promoted_page

    answer(told(job.run, command), promoted_page, as_json=as_json)


def _answer_compared(found: "Compared", *, as_json: bool) -> None:
    from pipelines.replay.compare import raise_if_undeclared
    from pipelines.terminal.replay import compared_page

    answer(found, compared_page, as_json=as_json)
    raise_if_undeclared(found)


@replay_app.command("list")
def replay_list(as_json: AsJson = False) -> None:
    """List the replays of the lake.

    For example: `pts replay list --json`
    """
    from pipelines.replay import shadows as job
    from pipelines.terminal.replay import replays_page

    answer(job.listed(current_settings()), replays_page, as_json=as_json)


@replay_app.command("drop")
@takes(commands.ReplayDrop)
def replay_drop(command: commands.ReplayDrop) -> None:
    """Delete a replay and its tables. What was promoted of it stays.

    For example: `pts replay drop fix`
    """
    from pipelines.replay import shadows as job

    job.drop(command, current_settings())
    typer.echo(f"Dropped {command.replay_id}.")


@takes(commands.Backfill)
def backfill(command: commands.Backfill, as_json: AsJson = False) -> None:
    """Recompute the windows and alerts of an interval of event time, from silver. The live job may run.

    Rows that are right are not written again: run twice, it does nothing the second time.

    For example: `pts backfill --from 2026-03-01 --to 2026-03-02 --dry-run`
    """
    from pipelines.maintenance import backfill as job
    from pipelines.terminal.maintenance import backfilled_page

    answer(told(job.run, command), backfilled_page, as_json=as_json)


quarantine_app = typer.Typer(no_args_is_help=True, help="Look at rejected records, and judge them again.")


@quarantine_app.command("list")
def quarantine_list(as_json: AsJson = False) -> None:
    """Count the rejected records by topic and reason.

    For example: `pts quarantine list --json`
    """
    from pipelines.queries import quarantine as job
    from pipelines.terminal.quarantine import quarantine_page

    answer(job.listed(current_settings()), quarantine_page, as_json=as_json)


@quarantine_app.command("show")
@takes(commands.QuarantineShow)
def quarantine_show(command: commands.QuarantineShow, as_json: AsJson = False) -> None:
    """Show the newest records of a reason, with their bytes and their place on the log.

    For example: `pts quarantine show --reason malformed --limit 3`
    """
    from pipelines.queries import quarantine as job
    from pipelines.terminal.quarantine import quarantine_page

    answer(job.shown(command, current_settings()), quarantine_page, as_json=as_json)


@quarantine_app.command("redrive")
@takes(commands.QuarantineRedrive)
def quarantine_redrive(command: commands.QuarantineRedrive, as_json: AsJson = False) -> None:
    """Judge rejected records again, after a rule was corrected. What is accepted enters all tables, once.

    The live job may run, with the corrected code.

    For example: `pts quarantine redrive --reason too_late --dry-run`
    """
    from pipelines.replay import redrive as job
    from pipelines.terminal.replay import redriven_page

    answer(told(job.run, command), redriven_page, as_json=as_json)
