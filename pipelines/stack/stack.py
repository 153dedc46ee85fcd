"""The embedded stack: broker, job, feed, API, board, SQL and Airflow under one supervisor, all of it in `$PTS_HOME`."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain

from pipelines import commands
from pipelines.errors import InvalidInput, StackError
from pipelines.io.kafka import admin
from pipelines.io.kafka.connection import Connection
from pipelines.live import topics
from pipelines.live.seal import SEALING_IS_OFF
from pipelines.processes import airflow as airflow_io
from pipelines.processes.log_tail import LogTail
from pipelines.processes.ports import is_open, why_unusable
from pipelines.processes.secret_files import forget_secrets, secrets_in_files
from pipelines.processes.signals import signals_interrupt, undisturbed
from pipelines.processes.supervisor import (
    BY_NAME,
    GROUPED,
    GROUPS,
    SERVICES,
    Service,
    Supervisor,
    services_of,
    startable,
)
from pipelines.settings import Api, Board, Settings, SqlServer
from pipelines.stack import airflow, broker
from pipelines.stack.watch import AirflowReady, Watch, ended_by_itself

BROKER_READY_SECONDS = 60.0
SQL_READY_SECONDS = 180.0
"""Some 15 s by itself."""
STOP_SECONDS = 210.0
"""More than the supervisor's own patience with all services together (`stopwaitsecs` in supervisord.conf)."""
ORPHAN_STOP_SECONDS = 30.0
STOP_ORDER = (
    "sql",
    "board",
    "api",
    "airflow-scheduler",
    "stream",
    "simulate",
    "seal",
    "airflow-dag-processor",
    "airflow-api-server",
    "broker",
)
"""The priorities in supervisord.conf say the same, for a supervisor that somebody else stops."""

Say = Callable[[str], None]


def wanted_services(named: Sequence[str], settings: Settings) -> tuple[str, ...]:
    """The named services (none: all but `BY_NAME`) and those that they need, in the order of their start.

    The simulated feed goes to a broker of somebody's own only by name. Raises `InvalidInput`.
    """
    if "seal" in named and not settings.seal.enabled:
        raise InvalidInput(SEALING_IS_OFF)
    known = startable(settings)
    if unknown := sorted(set(named) - set(known)):
        raise InvalidInput(f"There is no service {', '.join(unknown)}. The services are {', '.join(known)}.")
    if "broker" in named and not settings.has_embedded_broker:
        raise InvalidInput(
            f"PTS_KAFKA__BOOTSTRAP_SERVERS={settings.kafka.bootstrap_servers} names a broker, so none is started. "
            "Unset it for the embedded one."
        )
    chosen = _asked_for(named, settings)
    unnamed = {"broker", "simulate"} - set(named)
    wanted = chosen | {"broker"} if settings.has_embedded_broker else chosen - unnamed
    return tuple(name for name in services_of(settings) if name in wanted)


def _asked_for(named: Sequence[str], settings: Settings) -> set[str]:
    return {service for name in named for service in GROUPS.get(name, (name,))} or set(services_of(settings)) - BY_NAME


def services(settings: Settings) -> dict[str, Service]:
    """Every service of the deployment as it stands, by name."""
    found = Supervisor(settings).services()
    return {name: found[name] for name in SERVICES if name in found}


def is_running(settings: Settings) -> bool:
    """Whether a supervisor runs in this home, whatever its services do."""
    return Supervisor(settings).pid is not None


def start(named: Sequence[str], settings: Settings, say: Say) -> None:
    """Starts services and leaves them running; in a stack that already runs, those that it lacks.

    It returns when broker, SQL and Airflow can be used. Raises `StackError` when all run, when one ends while it
    starts, or when a former supervisor left processes behind. A stack that could not be started whole is stopped again.
    """
    supervisor = Supervisor(settings)
    missing = _missing(named, settings)
    is_ours = supervisor.pid is None
    try:
        watch = Watch(settings, missing)
        _start(missing, settings, say)
        if "airflow-api-server" in missing and not _is_ready(watch):
            raise StackError(f"Airflow has ended. Its logs are {supervisor.log('airflow-*')}.")
    except BaseException:
        if is_ours:
            with undisturbed():
                stop(settings, say)
        raise


def _is_ready(watch: Watch) -> bool:
    """Whether Airflow can be used, once that is known."""
    return any(isinstance(event, AirflowReady) for event in chain.from_iterable(watch))


@contextmanager
def running(named: Sequence[str], settings: Settings, say: Say) -> Iterator[Watch]:
    """A stack for as long as the block lasts: Ctrl-C, SIGTERM, a closed terminal or a failure stops all of it.

    The block begins when the broker can be used; the watch tells when Airflow can. Raises `StackError` as `start`
    does, and when a supervisor already runs.
    """
    missing = _missing(named, settings)
    if is_running(settings):
        raise StackError(f"A stack already runs in {settings.home.resolve()}. `pts down` stops it.")
    with signals_interrupt():
        try:
            watch = Watch(settings, missing)
            _start(missing, settings, say)
            yield watch
        finally:
            with undisturbed():
                stop(settings, say)


def stop(settings: Settings, say: Say) -> bool:
    """Stops whatever runs: the job at a batch boundary, the feed, the sealer, then the broker.

    Returns whether anything ran, when every process is gone. Processes of a supervisor that was killed are found by
    their pid locks and stopped as well.
    """
    supervisor = Supervisor(settings)
    pid = supervisor.pid
    if pid:
        with suppress(OSError):  # nobody may be listening any more
            say("Stopping; the job ends at a batch boundary …")
        # By itself, the supervisor would stay with each service for a second, with those that do not run, too.
        for service in _running(settings):
            supervisor.stop(service.name)
        _end(pid, signal.SIGTERM)
        if not _wait(lambda: supervisor.pid is None, STOP_SECONDS):
            _end(pid, signal.SIGKILL)
            _wait(lambda: supervisor.pid is None, ORPHAN_STOP_SECONDS)
    orphans = _running(settings)
    for service in orphans:
        with suppress(OSError):
            say(f"Stopping {service.name}, process {service.pid}, which its supervisor left behind …")
        _stop_orphan(service, settings)
    supervisor.forget()
    forget_secrets(settings)
    return bool(pid or orphans)


def _running(settings: Settings) -> list[Service]:
    """The services that run, in the order in which they are stopped."""
    found = services(settings)
    return [found[name] for name in STOP_ORDER if name in found and found[name].is_alive]


def _missing(named: Sequence[str], settings: Settings) -> tuple[str, ...]:
    """The wanted services that do not run yet."""
    wanted = wanted_services(named, settings)
    found = services(settings)
    if orphans := [
        f"{service.name} (process {service.pid})" for service in found.values() if service.state == "ORPHANED"
    ]:
        raise StackError(f"A supervisor that died left {', '.join(orphans)} running. `pts down` stops that.")
    missing = tuple(name for name in wanted if not found[name].is_alive)
    if not _asked_for(named, settings) & set(missing):
        already = " and ".join(named or wanted)
        runs = "run" if " and " in already else "runs"
        raise StackError(f"{already} already {runs} in {settings.home.resolve()}. `pts down` stops the stack.")
    return missing


def _start(missing: Sequence[str], settings: Settings, say: Say) -> None:
    try:
        settings = secrets_in_files(settings)
    except OSError as error:
        raise StackError(
            f"PTS_HOME {settings.home.resolve()} cannot be written: {error.strerror}. Set PTS_HOME to another folder."
        ) from error
    supervisor = Supervisor(settings)
    if "broker" in missing:
        broker.check(settings)
        broker.prepare(settings)
    if "airflow-api-server" in missing:
        airflow.check(settings)
    servers: dict[str, Api | Board | SqlServer] = {"api": settings.api, "board": settings.board, "sql": settings.sql}
    for name, server in servers.items():
        if name in missing and (why := why_unusable(server.port, server.host)):
            raise StackError(f"Port {server.port} cannot be used: {why}. Set PTS_{name.upper()}__PORT to a free port.")
    if supervisor.pid is None:
        supervisor.launch()
    if "broker" in missing:
        say(f"Starting the broker at {settings.bootstrap_servers} …")
        broker_log = LogTail(supervisor.log("broker"))
        supervisor.start("broker")
    airflow_parts = [name for name in missing if name in GROUPS["airflow"]]
    if airflow_parts:  # beside the start of the broker, and before Spark takes the cores
        _prepare_airflow(settings, say)
    if "broker" in missing:
        connection = Connection.of(settings, "admin")
        _await("broker", partial(admin.answers, connection), BROKER_READY_SECONDS, supervisor, broker_log)
    sql_log = LogTail(supervisor.log("sql"))
    jobs = [name for name in missing if name != "broker" and name not in GROUPED]
    if jobs or ("broker" in missing and settings.profile == "secure"):  # which also gives rights
        topics.run(commands.Topics(), settings)
    for name in jobs:
        place = f" at {servers[name].url}" if name in servers else ""
        say(f"Starting {name}{place}; its log is {supervisor.log(name)}")
        supervisor.start(name)
    for name in airflow_parts:
        supervisor.start(name)
    if "sql" in missing:
        _await("sql", partial(is_open, settings.sql.port), SQL_READY_SECONDS, supervisor, sql_log)


def _prepare_airflow(settings: Settings, say: Say) -> None:
    say(f"Starting Airflow at {airflow_io.url(settings)} …")
    if password := airflow.prepare(settings):
        say(
            f"Airflow's first user is {airflow.ADMIN} with the password {password}, shown only now. "
            f"`pts airflow users reset-password --username {airflow.ADMIN}` sets another one."
        )


def _await(name: str, answers: Callable[[], bool], seconds: float, supervisor: Supervisor, log: LogTail) -> None:
    """Returns when the service answers. Raises `StackError` when it ends instead, or takes longer."""
    deadline = time.monotonic() + seconds
    while not answers():
        service = supervisor.services()[name]
        if not service.is_alive:
            raise ended_by_itself(service, log)
        if time.monotonic() > deadline:
            raise StackError(f"{name} does not answer after {seconds:.0f} s. Its log is {service.log}.")
        time.sleep(0.1)


def _stop_orphan(service: Service, settings: Settings) -> None:
    assert service.pid is not None
    _end(service.pid, signal.SIGTERM)
    if not _wait(lambda: not _lives(service.name, settings), ORPHAN_STOP_SECONDS):
        # Each service leads a group of its own, to which a JVM that it started belongs.
        with suppress(ProcessLookupError):
            os.killpg(service.pid, signal.SIGKILL)


def _lives(name: str, settings: Settings) -> bool:
    found = services(settings)
    return name in found and found[name].is_alive


def _end(pid: int, with_signal: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, with_signal)


def _wait(is_done: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
