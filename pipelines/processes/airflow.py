"""The embedded Airflow: the environment in which each of its processes runs, and whether it is well.

Airflow is configured by variables alone. What is not set here, `AIRFLOW__` variables of the caller may set.
"""

import base64
import http.client
import json
import os
import secrets
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from shlex import join

import pipelines
from pipelines.host_environment import spare_loopback
from pipelines.processes.atomic_file import write_whole
from pipelines.settings import Settings
from pipelines.settings_variables import as_variables

PROJECT = Path(pipelines.__file__).parent.parent
DAGS = PROJECT / "dags"
LOCAL_SETTINGS = PROJECT / "infra" / "airflow"
"""Where `airflow_local_settings` is."""

COMMAND = (sys.executable, "-P", "-m", "airflow")
SQL_ALCHEMY_CONN = "DATABASE__SQL_ALCHEMY_CONN"
TELL = "import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]], end='')"
"""A program, for Airflow to run, that tells one secret of a file."""

PARALLELISM = 3
"""Tasks at once: on two cores, a Spark command or two, and room for a task that only looks."""

HEARTBEAT_TIMEOUT_SECONDS = 120
"""A task that was not heard of for so long is tried again. It may be short, because a new try first ends what the last
one left running (`parent_death.py`). A healthy one is heard of every 5 s, less often on an overloaded machine."""

API_PATIENCE_SECONDS = 30
"""How long a task waits for an answer of the API server: its first ones take more than 5 s, the default, on cores that
Spark has taken."""

ORPHANS_EVERY_SECONDS = 60
"""How often tasks are looked for whose scheduler died."""

SQLITE_PATIENCE_SECONDS = 60
"""How long a writer waits for another: after the default, 5 s, it gives up, which a busy machine makes it do."""

LAST_STARTS = """
    SELECT max(start_date) AS started_at FROM task_instance WHERE EXISTS (SELECT 1 FROM dag WHERE {is_frequent})
    UNION ALL
    SELECT max(start_date) FROM job WHERE job_type = 'SchedulerJob' AND EXISTS (SELECT 1 FROM dag WHERE {is_frequent})
""".format(is_frequent="NOT is_paused AND dag_id IN ('replay_requests', 'watch_stream')")
"""Starts of tasks and schedulers; none when no DAG is on that starts a task every few minutes."""

LOOK = "look at its tasks' logs in {}/logs, and at that of its scheduler"

PARTS_WITH_HEALTH = ("metadatabase", "scheduler", "dag_processor")


def home(settings: Settings) -> Path:
    """Airflow's own folder: secrets, logs of tasks, and its database unless that is elsewhere."""
    return settings.home.resolve() / "airflow"


def host(settings: Settings) -> str:
    """The address by which this machine reaches it."""
    return "127.0.0.1" if settings.airflow.host == "0.0.0.0" else settings.airflow.host


def url(settings: Settings) -> str:
    """The address of Airflow's pages, and of its API."""
    return f"http://{host(settings)}:{settings.airflow.port}"


def database(settings: Settings) -> str:
    """Where its state is, with the password if it has one. Raises `InvalidInput` for a file that does not say."""
    given = settings.airflow.database
    return given.reveal() if given else f"sqlite:///{home(settings)}/airflow.db?timeout={SQLITE_PATIENCE_SECONDS}"


def environment(settings: Settings, inherited: Mapping[str, str]) -> dict[str, str]:
    """Variables for a process of Airflow, and through it for the `pts` commands of its tasks. Makes its folder.

    Secrets are not among them: every task would inherit them. Airflow runs commands that tell it (`…_CMD`).
    """
    folder = home(settings)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)  # its database knows the hashes of passwords
    configuration = {
        "CORE__AUTH_MANAGER": "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager",
        "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "CORE__DAGS_FOLDER": DAGS,
        "CORE__EXECUTION_API_SERVER_URL": f"{url(settings)}/execution/",
        "CORE__EXECUTOR": "LocalExecutor",
        "CORE__LOAD_EXAMPLES": "False",
        "CORE__PARALLELISM": PARALLELISM,
        "CORE__PLUGINS_FOLDER": DAGS / "plugins",
        "API__BASE_URL": url(settings),
        "API__HOST": settings.airflow.host,
        "API__PORT": settings.airflow.port,
        "API__WORKERS": 1,
        "DAG_PROCESSOR__PARSING_PROCESSES": 1,
        "LOGGING__FILE_TASK_HANDLER_NEW_FILE_PERMISSIONS": oct(0o666 & ~int(settings.umask, 8)),
        "LOGGING__FILE_TASK_HANDLER_NEW_FOLDER_PERMISSIONS": oct(0o777 & ~int(settings.umask, 8)),
        "SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": ORPHANS_EVERY_SECONDS,
        "SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": HEARTBEAT_TIMEOUT_SECONDS,
        "WORKERS__EXECUTION_API_TIMEOUT": API_PATIENCE_SECONDS,
        "WORKERS__EXECUTION_API_RETRIES": 20,  # the scheduler may start tasks before the API server is there
        "WORKERS__EXECUTION_API_RETRY_WAIT_MIN": 2,
        "WORKERS__EXECUTION_API_RETRY_WAIT_MAX": 3,
    }
    if settings.airflow.database:
        write_whole(folder / "database.json", json.dumps({SQL_ALCHEMY_CONN: database(settings)}), is_secret=True)
        configuration |= _told_by(folder / "database.json")
    else:
        configuration[SQL_ALCHEMY_CONN] = database(settings)
    configuration |= _told_by(_keys(folder / "secrets.json"))
    fixed = {f"AIRFLOW__{name}": str(value) for name, value in configuration.items()}
    own = {"AIRFLOW_HOME": str(folder), "PYTHONPATH": str(LOCAL_SETTINGS)}
    foreign = {name: value for name, value in inherited.items() if not name.upper().startswith("PTS_")}
    made = {**foreign, **as_variables(settings), **fixed, **own}
    spare_loopback(made)  # tasks ask the API server for all they need
    return made


def is_healthy(settings: Settings) -> bool:
    """Whether its API answers, and says that database, scheduler and DAG processor are well."""
    connection = http.client.HTTPConnection(host(settings), settings.airflow.port, timeout=5)
    try:
        connection.request("GET", "/api/v2/monitor/health")
        told = json.loads(connection.getresponse().read())
    except (OSError, http.client.HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return all(told.get(part, {}).get("status") == "healthy" for part in PARTS_WITH_HEALTH)


def seconds_without_a_task(settings: Settings, now: datetime) -> float | None:
    """How long ago its last task started, or its scheduler, whatever was later.

    0 where all DAGs are paused that start a task every few minutes; None where its database cannot be read. All that
    Airflow says of itself may be well while none of its tasks reaches the API server.
    """
    from sqlalchemy import DateTime, create_engine, text
    from sqlalchemy.exc import SQLAlchemyError

    query = text(LAST_STARTS).columns(started_at=DateTime(timezone=True))
    try:
        with create_engine(database(settings)).connect() as connection:
            found = connection.execute(query).scalars().all()
    except SQLAlchemyError:
        return None
    moments = [moment if moment.tzinfo else moment.replace(tzinfo=UTC) for moment in found if moment]
    return (now - max(moments)).total_seconds() if moments else 0.0


def idle(settings: Settings) -> str | None:
    """What is to be done about an Airflow that cannot be asked, or that starts no task for longer than
    PTS_HEALTH__AIRFLOW_TASK_SECONDS; None while it does.
    """
    seconds = seconds_without_a_task(settings, datetime.now(UTC))
    if seconds is None:
        return f"Airflow's database cannot be read: {LOOK.format(home(settings))}."
    if seconds <= settings.health.airflow_task_seconds:
        return None
    return f"Airflow has started no task for {seconds:.0f} s, and should: {LOOK.format(home(settings))}."


def _keys(path: Path) -> Path:
    """The file with the keys of this Airflow, made once, which only this user can read."""
    if not path.exists():
        made = {
            "CORE__FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            "API__SECRET_KEY": secrets.token_urlsafe(32),
            "API_AUTH__JWT_SECRET": secrets.token_urlsafe(64),
        }
        draft = path.with_suffix(f".{os.getpid()}")
        write_whole(draft, json.dumps(made), is_secret=True)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was faster: its keys are the ones
        finally:
            draft.unlink()
    return path


def _told_by(path: Path) -> dict[str, str]:
    """Commands by which Airflow learns the secrets that the file has by name."""
    names = json.loads(path.read_text(encoding="utf-8"))
    return {f"{name}_CMD": join([sys.executable, "-I", "-S", "-c", TELL, str(path), name]) for name in names}
