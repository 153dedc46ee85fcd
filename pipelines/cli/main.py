"""The command `pts`. Each command imports its job when it runs, so that `--help` and `status` answer at once."""

import io
import json
import os
import sys
import traceback
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, TextIO

import typer
from rich.table import Table

from pipelines import commands
from pipelines.cli import history, operations, stack
from pipelines.cli.common import DUCKDB_INTERRUPTED, AsJson, console, current_settings
from pipelines.cli.parameters import checked, takes
from pipelines.errors import MOST_CHARACTERS, InvalidInput, PtsError, log_text, printable

if TYPE_CHECKING:
    from pipelines.terminal.rendering import Form

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Package tracking: a Kafka log, one Spark job, Delta tables. Start with `pts demo`, ask with `pts sql`.",
)


@app.command()
def settings(as_json: AsJson = False) -> None:
    """Print every setting: variable, value, where it came from, what it does.

    Settings are environment variables, for example `PTS_HOME=/data/pts PTS_KAFKA__PARTITIONS=8 pts up`.
    """
    from pipelines.settings_variables import setting_lines

    environ = dict(os.environ)  # before the settings are taken out of it
    lines = setting_lines(current_settings(), environ)
    if as_json:
        described = [
            {"name": line.variable, "value": line.value, "source": line.source, "description": line.description}
            for line in lines
        ]
        return typer.echo(json.dumps(described, default=str, indent=2))
    drawn = Table(show_lines=True)
    for title in ("setting", "value", "from", "description"):
        drawn.add_column(title, overflow="fold")
    for line in lines:
        drawn.add_row(line.variable, "" if line.value is None else str(line.value), line.source, line.description)
    return console().print(drawn, markup=False)


stack.add_to(app)


@app.command()
@takes(commands.Topics)
def topics(command: commands.Topics) -> None:
    """Create the topics of the contract; refuse to go on where an existing one differs."""
    from pipelines.live import topics as job

    created = job.run(command, current_settings())
    typer.echo(f"Created {', '.join(created)}." if created else "All topics are as the contract says.")


@app.command()
@takes(commands.Seal)
def seal(command: commands.Seal) -> None:
    """Move records from the intake topics into the kept ones, exactly once, with personal fields in an envelope.

    Runs beside the job, until SIGTERM. Needs PTS_SEAL__ENABLED.
    """
    from pipelines.live import seal as job

    typer.echo(f"Moved {job.run(command, current_settings()):,} records.")


@app.command()
@takes(commands.Erase)
def erase(command: commands.Erase, as_json: AsJson = False) -> None:
    """Forget the sealed fields of a package, for good: destroy its key, and withdraw its report.

    The tables keep the envelopes, and stay what the log says. Cut off, it is called again.
    """
    from pipelines.live import erase as job

    found = job.run(command, current_settings())
    typer.echo(json.dumps(found.as_json()) if as_json else str(found))


@app.command()
@takes(commands.Stream)
def stream(command: commands.Stream) -> None:
    """Run the job: records of the log into the Delta tables, batch after batch. SIGTERM ends it at a batch boundary."""
    from pipelines.live import stream as job
    from pipelines.observability.observers import observers
    from pipelines.replay.promote import promote_with_lease

    current = current_settings()
    with observers(current) as watching:
        job.run(command, current, promote_with_lease, observers=watching)


@app.command()
@takes(commands.Simulate)
def simulate(command: commands.Simulate) -> None:
    """Produce a believable feed to the input topics, the unpleasant share of real ones included.

    For example, a million records at full speed: `pts simulate --packages 100000 --rate 0 --count 1000000`.
    """
    from dataclasses import asdict

    from pipelines.stack import simulate as job

    summary = job.run(command, current_settings())
    typer.echo(str(summary) if sys.stdout.isatty() else json.dumps(asdict(summary)))


@app.command()
@takes(commands.SqlShell)
def sql(
    command: commands.SqlShell,
    query: Annotated[str | None, typer.Argument(help=f"{commands.Sql.given()['query'].help} Without, a shell.")] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV with a header; a null is an empty field.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON array of objects.")] = False,
) -> None:
    """Ask the tables. Timestamps are UTC.

    Tables are named as `gold.remaining_stops`, `silver.ship_events`, `silver.quarantine`, `ops.batches`. A query that
    begins with a dash comes after `--`. Without a query, a terminal gets a shell with history and completion, and from
    a pipe or a file all statements are answered: `pts sql < questions.sql`.
    """
    if as_csv and as_json:
        raise InvalidInput("--csv and --json exclude each other.")
    form: Form = "csv" if as_csv else "json" if as_json else "table"
    if query is None:
        from pipelines.cli import sql_shell

        return sql_shell.run(command, form, current_settings())
    asked = checked(commands.Sql, query=query, **command.model_dump())
    from pipelines.queries import sql as job
    from pipelines.terminal.rendering import write_table

    return write_table(job.query(asked, current_settings()), sys.stdout, form)


@app.command()
@takes(commands.Snapshot)
def snapshot(command: commands.Snapshot) -> None:
    """Print the version of every table after a batch, as JSON: one picture across tables, for any reader of Delta."""
    from pipelines.queries import snapshot as job

    typer.echo(json.dumps(job.run(command, current_settings()), indent=2))


@app.command()
@takes(commands.Report)
def report(command: commands.Report, as_json: AsJson = False) -> None:
    """Print one package: its report, its route, its scans in order, each with its place on the log."""
    from pipelines.queries.explain import explanation
    from pipelines.queries.report import package_report

    read = explanation if command.explain else package_report
    found = read(command.tracking_number, current_settings())
    if as_json:
        from pipelines.terminal.rendering import json_text

        return typer.echo(json_text(found.as_json(), indent=2))
    return console().print(found.render())


history.add_to(app)
operations.add_to(app)

INTERRUPTED = 130
"""The shell's exit code for Ctrl-C."""


def main() -> None:
    """Runs `pts`: a `PtsError` is one sentence and its exit code, Ctrl-C is 130, a closed pipe is quiet.

    What is said of failures may end in a log, and quotes no rows, but for `InvalidInput`: who gave the input reads it.
    """
    sys.excepthook = _tell_of_defect
    for stream in (sys.stdout, sys.stderr):
        _write_what_can_be_written(stream)
    try:
        try:
            app(prog_name="pts")
        finally:
            sys.stdout.flush()
    except PtsError as error:
        said = " ".join(str(error).splitlines())
        shown = printable(said, MOST_CHARACTERS) if isinstance(error, InvalidInput) else log_text(said)
        with suppress(BrokenPipeError):
            sys.stderr.write(f"pts: {shown}\n")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except RuntimeError as error:
        if str(error) != DUCKDB_INTERRUPTED:
            raise
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # Or the interpreter flushes again when it ends, and complains.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _tell_of_defect(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    sys.stderr.write(log_text("".join(traceback.format_exception(error))) + "\n")


def _write_what_can_be_written(stream: TextIO) -> None:
    """A terminal that is not UTF-8 shows a replacement for what it lacks. Files and pipes get UTF-8, unless the user
    says otherwise: there nothing may be lost.
    """
    if isinstance(stream, io.TextIOWrapper):
        as_told = stream.isatty() or "PYTHONIOENCODING" in os.environ
        stream.reconfigure(errors="replace", encoding=None if as_told else "utf-8")
