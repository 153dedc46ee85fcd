"""The embedded Airflow: made ready, started, and its own command line."""

import os
import secrets
import subprocess
import sys
from hashlib import sha256
from importlib.metadata import version
from typing import NoReturn

from pipelines import commands
from pipelines.errors import StackError
from pipelines.processes import airflow
from pipelines.processes.log_tail import LogTail
from pipelines.processes.ports import why_unusable
from pipelines.settings import Settings

ADMIN = "admin"
PREPARE = airflow.LOCAL_SETTINGS / "prepare.py"
CREATED = "The first user was made."
"""What it says when it made one."""

ROLES = airflow.LOCAL_SETTINGS / "roles.json"
"""Beside Airflow's own, as `airflow roles import` reads them: of those who start replays, and of those who approve."""


def run(command: commands.Airflow, settings: Settings) -> NoReturn:
    """Becomes Airflow: this process is replaced, so signals reach it. Raises `StackError` without a folder to write."""
    environment = _environment(settings)
    os.execve(airflow.COMMAND[0], [*airflow.COMMAND, *command.arguments], environment)


def check(settings: Settings) -> None:
    """Raises `StackError` when its port is taken, found out before anything is started."""
    port = settings.airflow.port
    if why := why_unusable(port, settings.airflow.host):
        raise StackError(f"Port {port} cannot be used: {why}. Set PTS_AIRFLOW__PORT to a free port.")


def prepare(settings: Settings) -> str | None:
    """Brings its database to this version, and makes roles and the first user. Returns that one's password, only when
    it was made.

    Done once for each version and database, and again when that is lost. Raises `StackError` when it cannot be reached.
    """
    environment = _environment(settings)
    database = sha256(airflow.database(settings).encode()).hexdigest()  # its address may have a password
    done, state = airflow.home(settings) / "prepared", f"{version('apache-airflow')} {database}"
    if done.exists() and done.read_text(encoding="utf-8") == state and _has_tables(environment, settings):
        return None
    password = secrets.token_urlsafe(12)
    said = _run([sys.executable, "-P", str(PREPARE), str(ROLES), ADMIN], password, environment, settings)
    with os.fdopen(os.open(done, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(state)
    return password if CREATED in said else None


def _has_tables(environment: dict[str, str], settings: Settings) -> bool:
    """Whether the database is still the one that was prepared: somebody may have made it again."""
    if not settings.airflow.database:
        return (airflow.home(settings) / "airflow.db").exists()
    command = [*airflow.COMMAND, "db", "check-migrations", "--migration-wait-timeout", "1"]
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0


def _run(command: list[str], answer: str, environment: dict[str, str], settings: Settings) -> str:
    """What the command says. It gets its answer on standard input: arguments can be read by everybody."""
    log = settings.home.resolve() / "logs" / "airflow-setup.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    tail, before = LogTail(log), log.stat().st_size if log.exists() else 0
    with log.open("ab") as out:
        done = subprocess.run(
            command, env=environment, input=answer.encode(), stdout=out, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode:
        raise StackError(f"Airflow's database could not be made ready: {tail.last_error()} (log: {log})")
    return log.read_bytes()[before:].decode("utf-8", "replace")


def _environment(settings: Settings) -> dict[str, str]:
    try:
        return airflow.environment(settings, os.environ)
    except OSError as error:
        raise StackError(
            f"PTS_HOME {settings.home.resolve()} cannot be written: {error.strerror}. Set PTS_HOME to another folder."
        ) from error
