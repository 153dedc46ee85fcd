"""`pts up`, `down` and `status`, the services of the embedded stack, each in the foreground, and `demo`."""

import json
from typing import Annotated

import typer

from pipelines import commands
from pipelines.cli.common import INDENTED, AsJson, answer, current_settings
from pipelines.cli.completion import service_names
from pipelines.cli.parameters import takes


def add_to(app: typer.Typer) -> None:
    """Adds the commands."""
    for command in (up, down, status, broker, certificates, api, board, sql_server, demo):
        app.command()(command)
    # What follows is Airflow's own: its options, and its --help.
    as_it_is = {"allow_interspersed_args": False, "ignore_unknown_options": True, "help_option_names": []}
    app.command(context_settings=as_it_is)(airflow)


def up(
    services: Annotated[
        list[str] | None,
        typer.Argument(
            help="broker, stream, seal, simulate, api, board, sql, airflow; none: all that there are but sql.",
            autocompletion=service_names,
        ),
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Return when everything runs.")] = False,
) -> None:
    """Start the stack and show its progress; Ctrl-C stops all of it.

    A named service brings the ones that it needs: `pts up stream` starts the broker, too. In a stack that already runs,
    the services that it lacks are started.

    For example: `pts up stream --detach`
    """
    from pipelines.stack import up as job
    from pipelines.terminal.page import console
    from pipelines.terminal.stack import StackScreen

    job.run(services or [], current_settings(), StackScreen(console()), detach=detach)


def down() -> None:
    """Stop the stack, wherever it was started, and wait until it is gone.

    For example: `pts down`
    """
    from pipelines.stack import stack

    current = current_settings()
    typer.echo("Stopped." if stack.stop(current, typer.echo) else f"Nothing is running in {current.home.resolve()}.")


def status(as_json: AsJson = False) -> None:
    """Show the addresses of all that the stack serves, and each service's state, process and log.

    For example: `pts status --json`
    """
    from pipelines.stack import status as job
    from pipelines.terminal.stack import status_page

    answer(job.status(current_settings()), status_page, as_json=as_json, dumps=INDENTED)


@takes(commands.Broker)
def broker(command: commands.Broker) -> None:
    """Run the embedded Kafka broker in the foreground; SIGTERM and Ctrl-C shut it down cleanly.

    For example: `PTS_BROKER__PORT=9192 pts broker`
    """
    from pipelines.stack import broker as job

    job.run(command, current_settings())


@takes(commands.Certificates)
def certificates(command: commands.Certificates) -> None:
    """Renew the embedded broker's certificates that are near their end, without a restart (PTS_PROFILE=secure).

    For example: `PTS_PROFILE=secure pts certificates`
    """
    from pipelines.stack import certificates as job

    found = job.run(command, current_settings())
    typer.echo(json.dumps({name: at.isoformat() for name, at in found.items()}))


@takes(commands.Api)
def api(command: commands.Api) -> None:
    """Serve the customers' API and its pages, fed by the topic package-reports, in the foreground; SIGTERM ends it.

    `GET /packages/42`, `/packages/42/events`, and for people `/track/42`; `/docs` describes it.

    For example: `PTS_API__PORT=8001 pts api`
    """
    from pipelines.api import server as job

    job.run(command, current_settings())


@takes(commands.Board)
def board(command: commands.Board) -> None:
    """Serve the board, pages that show what the lake holds and how the job does, in the foreground; SIGTERM ends it.

    For example: `PTS_BOARD__PORT=8011 pts board`
    """
    from pipelines.board import server as job

    job.run(command, current_settings())


@takes(commands.SqlServer)
def sql_server(command: commands.SqlServer) -> None:
    """Let tools that speak JDBC or ODBC read the lake's tables by Spark SQL, in the foreground; SIGTERM ends it.

    For example: `PTS_SQL__PORT=10001 pts sql-server`
    """
    from pipelines.observability.observers import sql_observers
    from pipelines.queries import sql_server as job

    current = current_settings()
    with sql_observers(current) as watching:
        job.run(command, current, watching)


def demo() -> None:
    """Start everything with a seeded feed and watch packages move; Ctrl-C stops all of it, and the lake stays.

    For example: `PTS_HOME=/tmp/demo pts demo`
    """
    from pipelines.stack import demo as job
    from pipelines.terminal.demo import DemoScreen
    from pipelines.terminal.page import console

    job.run(current_settings(), DemoScreen(console()))


@takes(commands.Airflow)
def airflow(command: commands.Airflow) -> None:
    """Run a command of Airflow's own in the embedded Airflow, for example `pts airflow dags list`."""
    from pipelines.stack import airflow as job

    job.run(command, current_settings())
