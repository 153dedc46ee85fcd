"""The supervisor of one home's services: supervisord, spoken to over a unix socket that only this user can open.

What runs is known from pid locks (`pid_lock.py`), so a supervisor that was killed leaves nothing that cannot be found.
"""

import errno
import os
import subprocess
import sys
import tempfile
import time
import xmlrpc.client
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from shlex import join
from typing import Any, Literal, cast

from supervisor.xmlrpc import SupervisorTransport

import pipelines
from pipelines import commands
from pipelines.errors import StackError
from pipelines.host_environment import scratch_below
from pipelines.processes.log_tail import LogTail
from pipelines.processes.parent_death import end_remains
from pipelines.processes.pid_lock import guarded, holder
from pipelines.settings import Settings
from pipelines.settings_variables import as_variables

CONFIGURATION = Path(pipelines.__file__).parent.parent / "infra" / "supervisor" / "supervisord.conf"
SERVICES: dict[str, commands.Command] = {
    "broker": commands.Broker(),
    "stream": commands.Stream(),
    "seal": commands.Seal(),
    "simulate": commands.Simulate(resume=True),
    "api": commands.Api(),
    "board": commands.Board(),
    "sql": commands.SqlServer(),
    "airflow-api-server": commands.Airflow(arguments=("api-server",)),
    "airflow-dag-processor": commands.Airflow(arguments=("dag-processor",)),
    # the API server reads the logs of tasks from the same folder; nobody else is to ask for them over a port
    "airflow-scheduler": commands.Airflow(arguments=("scheduler", "--skip-serve-logs")),
}
"""In the order of their start. `seal` is for a deployment in which personal fields are sealed."""

BY_NAME = frozenset({"sql"})
"""Services that are started when they are asked for, and otherwise not: a Java more."""

BEHIND = frozenset({"stream", "airflow-scheduler"})
"""Services that work in batches, with what they start: where processors are few, who answers somebody comes first."""

NICE = ("nice", "-n", "5")
"""Before their commands."""

GROUPS = {"airflow": tuple(name for name in SERVICES if name.startswith("airflow-"))}
"""Services that are started together, by the name that stands for them."""

GROUPED = frozenset(chain.from_iterable(GROUPS.values()))

LONGEST_SOCKET_PATH = 90
"""The kernel takes 107 bytes (103 on macOS), and supervisord first binds a name that is a pid longer."""

SHORT_PLACES = ("/tmp", "/var/tmp", "/dev/shm")

START_SECONDS = 20.0

State = Literal["STOPPED", "STARTING", "RUNNING", "STOPPING", "EXITED", "FATAL", "BACKOFF", "UNKNOWN", "ORPHANED"]


@dataclass(frozen=True)
class Service:
    """A service as it stands. `ORPHANED`: its process lives, its supervisor does not; `pts down` stops it."""

    name: str
    state: State
    pid: int | None
    exit_code: int | None
    log: Path

    @property
    def is_alive(self) -> bool:
        return self.pid is not None

    @property
    def has_failed(self) -> bool:
        return self.state == "FATAL" or (self.state == "EXITED" and self.exit_code != 0)


class Supervisor:
    """The supervisor of the services of one home, running or not."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._home = settings.home.resolve()
        self._run = self._home / "run"

    @property
    def pid(self) -> int | None:
        return holder(self._run / "supervisor.pid")

    def log(self, service: str) -> Path:
        return self._home / "logs" / f"{service}.log"

    def services(self) -> dict[str, Service]:
        """Every service of the deployment, by name, and those that run nevertheless. While the supervisor stops or is
        gone, what the pid locks tell.
        """
        try:
            found = (
                {info["name"]: self._service(info) for info in self._call("getAllProcessInfo")}
                if self.pid
                else self._held("ORPHANED")
            )
        except (OSError, xmlrpc.client.Error):
            found = self._held("STOPPING" if self.pid else "ORPHANED")
        there = services_of(self._settings)
        return {name: service for name, service in found.items() if name in there or service.is_alive}

    def start(self, service: str) -> None:
        """Starts a service and returns at once. Raises `StackError` when its command cannot be run.

        Workers of a scheduler that was killed would live on: they are ended first.
        """
        try:
            end_remains(self._run / f"{service}.pid")
        except TimeoutError as error:
            raise StackError(f"{service} could not be started: {error}") from error
        try:
            self._call("startProcess", service, False)
        except xmlrpc.client.Fault as fault:
            raise StackError(f"{service} could not be started: {fault.faultString}.") from fault

    def stop(self, service: str) -> None:
        """Stops a service, and returns when it has ended, also where somebody else stops it or the supervisor."""
        with suppress(OSError, xmlrpc.client.Error):
            self._call("stopProcess", service)

    def launch(self) -> None:
        """Starts the supervisor itself, with no service yet, in a session of its own so that Ctrl-C does not reach it.

        Raises `StackError` when the home cannot be written or another start was faster.
        """
        output = self.log("supervisord")
        try:
            scratch_below(self._home)
            for folder in (self._run, output.parent):
                folder.mkdir(parents=True, exist_ok=True)
            tail = LogTail(output)
            with output.open("ab") as out:
                command = [sys.executable, "-P", "-m", "supervisor.supervisord", "-c", str(CONFIGURATION)]
                process = subprocess.Popen(
                    guarded(self._run / "supervisor.pid", command),
                    env=self.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=out,
                    start_new_session=True,
                )
        except OSError as error:
            raise StackError(
                f"PTS_HOME {self._home} cannot be written: {error.strerror}. Set PTS_HOME to another folder."
            ) from error
        try:
            self._await_answer(process, tail)
        except BaseException:
            process.terminate()
            process.wait()
            raise

    def forget(self) -> None:
        """Removes the socket of a supervisor that is gone, as far as nobody else does at the same time."""
        record = self._run / "socket"
        with suppress(FileNotFoundError, NotADirectoryError):
            socket = Path(record.read_text(encoding="utf-8"))
            socket.unlink(missing_ok=True)
            record.unlink(missing_ok=True)
            if socket.parent != self._run:
                socket.parent.rmdir()

    def _await_answer(self, process: subprocess.Popen[bytes], tail: LogTail) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._answers(process.pid):
            if process.poll() is not None or time.monotonic() > deadline:
                raise StackError(f"The supervisor did not start: {tail.last_error()} (log: {self.log('supervisord')})")
            time.sleep(0.05)

    def _answers(self, pid: int) -> bool:
        try:
            return self.pid == pid and bool(self._call("getState"))
        except (OSError, xmlrpc.client.Error):
            return False

    def _call(self, method: str, *arguments: object) -> Any:
        url = f"unix://{(self._run / 'socket').read_text(encoding='utf-8')}"
        with xmlrpc.client.ServerProxy("http://localhost", transport=SupervisorTransport(None, None, url)) as server:
            return getattr(server.supervisor, method)(*arguments)

    def _service(self, info: dict[str, Any]) -> Service:
        state = cast(State, info["statename"])
        return Service(
            info["name"],
            state,
            info["pid"] or None,
            info["exitstatus"] if state == "EXITED" else None,
            self.log(info["name"]),
        )

    def _held(self, state: State) -> dict[str, Service]:
        pids = {name: holder(self._run / f"{name}.pid") for name in SERVICES}
        return {
            name: Service(name, state if pid else "STOPPED", pid, None, self.log(name)) for name, pid in pids.items()
        }

    def environment(self) -> dict[str, str]:
        """The variables that its configuration file asks for, and the settings: services read no others of PTS_."""
        services = {f"STACK_{name.upper().replace('-', '_')}": join(self._command(name)) for name in SERVICES}
        places = {"STACK_HOME": str(self._home), "STACK_SOCKET": self._new_socket(), "PYTHONUNBUFFERED": "1"}
        inherited = {name: value for name, value in os.environ.items() if not name.upper().startswith("PTS_")}
        return inherited | as_variables(self._settings) | services | places

    def _command(self, name: str) -> list[str]:
        command = [sys.executable, "-P", "-m", "pipelines.cli", *SERVICES[name].argv()]
        return [*(NICE if name in BEHIND else ()), *guarded(self._run / f"{name}.pid", command)]

    def _new_socket(self) -> str:
        """Path for the socket, kept in `run/socket`: in the home, or where that is too long, in a private folder."""
        socket = self._run / "supervisor.sock"
        if len(os.fsencode(socket)) > LONGEST_SOCKET_PATH:
            socket = _short_folder() / "supervisor.sock"
        (self._run / "socket").write_text(str(socket), encoding="utf-8")
        return str(socket)


def services_of(settings: Settings) -> tuple[str, ...]:
    """The services that a deployment has, in the order of their start."""
    return tuple(name for name in SERVICES if name != "seal" or settings.seal.enabled)


def startable(settings: Settings) -> list[str]:
    """The names by which a deployment's services are started: several of a group by that of the group."""
    return [name for name in services_of(settings) if name not in GROUPED] + list(GROUPS)


def _short_folder() -> Path:
    """A new folder of this user alone, with a short path."""
    for place in filter(None, (os.environ.get("XDG_RUNTIME_DIR"), *SHORT_PLACES)):
        with suppress(OSError):
            return Path(tempfile.mkdtemp(prefix="pts-", dir=place))
    raise OSError(errno.EACCES, f"none of {', '.join(SHORT_PLACES)} can be written")
