"""The command `pts`. Each command imports its job when it runs, so that `--help` and `status` answer at once."""

import io
import json
import os
import sys
import traceback
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, NoReturn, TextIO

import typer

from pipelines import commands
from pipelines.cli import history, operations, stack
from pipelines.cli.common import DUCKDB_INTERRUPTED, INDENTED, AsJson, answer, current_settings, told
from pipelines.cli.parameters import checked, takes
from pipelines.errors import MOST_CHARACTERS, InvalidInput, PtsError, log_text, printable
from pipelines.processes.last_threads import exit_process
from pipelines.progress import Step, reported_to

if TYPE_CHECKING:
    from pipelines.terminal.rows import Form

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="Package tracking: a Kafka log, one Spark job, Delta tables. Start with `pts demo`, ask with `pts sql`.",
)


@app.command()
def settings(as_json: AsJson = False) -> None:
    """Print every setting: variable, value, where it came from, what it does.

    Settings are environment variables, for example `PTS_HOME=/data/pts PTS_KAFKA__PARTITIONS=8 pts up`.

    For example: `PTS_HOME=/data/pts pts settings --json`
    """
    from pipelines.settings_variables import setting_lines
    from pipelines.terminal.settings import settings_page

    environ = dict(os.environ)  # before the settings are taken out of it
    answer(setting_lines(current_settings(), environ), settings_page, as_json=as_json, dumps=INDENTED)


stack.add_to(app)


@app.command()
@takes(commands.Topics)
def topics(command: commands.Topics) -> None:
    """Create the topics of the contract; refuse to go on where an existing one differs.

    For example: `PTS_KAFKA__PARTITIONS=8 pts topics`
    """
    from pipelines.live import topics as job

    created = job.run(command, current_settings())
    typer.echo(f"Created {', '.join(created)}." if created else "All topics are as the contract says.")


@app.command()
@takes(commands.Seal)
def seal(command: commands.Seal) -> None:
    """Move records from the intake topics into the kept ones, exactly once, with personal fields in an envelope.

    Runs beside the job, until SIGTERM. Needs PTS_SEAL__ENABLED.

    For example: `PTS_SEAL__ENABLED=true pts seal --drain`
    """
    from pipelines.live import seal as job
    from pipelines.observability.observers import seal_observers

    current = current_settings()
    with seal_observers(current, command) as watching:
        moved = job.run(command, current, watching)
    typer.echo(f"Moved {moved:,} records.")


@app.command()
@takes(commands.Erase)
def erase(command: commands.Erase, as_json: AsJson = False) -> None:
    """Forget the sealed fields of a package, for good: destroy its key, and withdraw its report.

    The tables keep the envelopes, and stay what the log says. Cut off, it is called again.

    For example: `pts erase 42`
    """
    from pipelines.live import erase as job
    from pipelines.terminal.package import erased_page

    answer(told(job.run, command), erased_page, as_json=as_json)


@app.command()
@takes(commands.Stream)
def stream(command: commands.Stream) -> None:
    """Run the job: records of the log into the Delta tables, batch after batch. SIGTERM ends it at a batch boundary.

    For example: `pts stream --drain`
    """
    from pipelines.live import stream as job
    from pipelines.observability.observers import observers
    from pipelines.replay.promote import promote_with_lease

    current = current_settings()
    with observers(current, command) as watching:
        job.run(command, current, promote_with_lease, observers=watching)


@app.command()
@takes(commands.Simulate)
def simulate(command: commands.Simulate) -> None:
    """Produce a believable feed to the input topics, the unpleasant share of real ones included.

    For example, a million records at full speed: `pts simulate --packages 100000 --rate 0 --count 1000000`.
    """
    from pipelines.stack import simulate as job
    from pipelines.terminal.stack import simulated_page

    answer(job.run(command, current_settings()), simulated_page, as_json=not sys.stdout.isatty())


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

    For example: `pts sql "SELECT count(*) FROM gold.remaining_stops" --json`
    """
    if as_csv and as_json:
        raise InvalidInput("--csv and --json exclude each other.")
    form: Form = "csv" if as_csv else "json" if as_json else "table"
    if query is None:
        from pipelines.cli import sql_shell

        return sql_shell.run(command, form, current_settings())
    asked = checked(commands.Sql, query=query, **command.model_dump())
    from pipelines.queries import sql as job
    from pipelines.terminal.rows import write_table

    return write_table(job.query(asked, current_settings()), sys.stdout, form)


@app.command()
@takes(commands.Snapshot)
def snapshot(command: commands.Snapshot) -> None:
    """Print the version of every table after a batch, as JSON: one picture across tables, for any reader of Delta.

    For example: `pts snapshot --at-batch 7`
    """
    from pipelines.queries import snapshot as job

    typer.echo(json.dumps(job.run(command, current_settings()).as_json(), indent=2))


@app.command()
@takes(commands.Report)
def report(command: commands.Report, as_json: AsJson = False) -> None:
    """Print one package: its report, its route, its scans in order, each with its place on the log.

    For example: `pts report 42 --explain`
    """
    from pipelines.queries.explain import explanation
    from pipelines.queries.report import package_report
    from pipelines.terminal.package import explanation_page, package_page
    from pipelines.values import json_text

    number, current, dumps = command.tracking_number, current_settings(), partial(json_text, indent=2)
    if command.explain:
        return answer(explanation(number, current), explanation_page, as_json=as_json, dumps=dumps)
    return answer(package_report(number, current), package_page, as_json=as_json, dumps=dumps)


history.add_to(app)
operations.add_to(app)

INTERRUPTED = 130
"""The shell's exit code for Ctrl-C."""


def main() -> NoReturn:
    """Runs `pts`, and ends the process."""
    try:
        _run_command()
    except SystemExit as ended:
        exit_process(ended.code)
    exit_process(0)


def _run_command() -> None:
    """Runs a command: a `PtsError` is one sentence and its exit code, Ctrl-C is 130, a closed pipe is quiet.

    What is said of failures may end in a log, and quotes no rows, but for `InvalidInput`: who gave the input reads it.
    """
    sys.excepthook = tell_of_defect
    for stream in (sys.stdout, sys.stderr):
        _write_what_can_be_written(stream)
    try:
        try:
            with reported_to(_show_progress):
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


def _show_progress(step: Step) -> None:
    from pipelines.terminal.progress import progress_screen

    progress_screen()(step)


def tell_of_defect(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    """Writes a traceback to standard error, as text that a terminal may show."""
    sys.stderr.write(log_text("".join(traceback.format_exception(error))) + "\n")


def _write_what_can_be_written(stream: TextIO) -> None:
    """A terminal that is not UTF-8 shows a replacement for what it lacks. Files and pipes get UTF-8, unless the user
    says otherwise: there nothing may be lost.
    """
    if isinstance(stream, io.TextIOWrapper):
        as_told = stream.isatty() or "PYTHONIOENCODING" in os.environ
        stream.reconfigure(errors="replace", encoding=None if as_told else "utf-8")
