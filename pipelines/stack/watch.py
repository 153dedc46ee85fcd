"""What happens in a running stack, for those who show it."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipelines.errors import StackError
from pipelines.processes import airflow
from pipelines.processes.log_tail import LogTail
from pipelines.processes.supervisor import Service, Supervisor
from pipelines.settings import Settings

POLL_SECONDS = 0.25
AIRFLOW_READY_SECONDS = 600.0
"""Some 30 s by itself; minutes on cores that have much else to do. Of a part that ended one is told at once."""
AIRFLOW_TASKS_SECONDS = 120.0
"""How often it is asked whether its tasks start."""

KILLED = -1
"""The exit code that supervisord gives a process which a signal ended."""


@dataclass(frozen=True)
class StateChange:
    """A service came to another state; the remark is what follows from it, if anything does."""

    service: Service
    remark: str | None = None


@dataclass(frozen=True)
class LogLine:
    """A line that the stream wrote: one JSON object per micro-batch, now and then a warning."""

    text: str


@dataclass(frozen=True)
class AirflowReady:
    """Airflow can be used: its API answers at this address, and its parts are well. Told once."""

    url: str


@dataclass(frozen=True)
class AirflowIdle:
    """Airflow is well and starts no task: what is to be done."""

    remark: str


Event = StateChange | LogLine | AirflowReady | AirflowIdle


class Watch:
    """What happens in a running stack: each round of the iteration gives what is new, often nothing.

    Raises `StackError` when a service ends with an error, its supervisor dies, or Airflow does not get ready. The
    iteration ends when no service is left: they all ended by themselves, or somebody stopped the stack.
    """

    def __init__(self, settings: Settings, watched: Sequence[str]) -> None:
        self._settings = settings
        self._supervisor = Supervisor(settings)
        self._watched = watched
        self._tails = {name: LogTail(self._supervisor.log(name)) for name in watched}
        self._seen: dict[str, str] = {}

    def __iter__(self) -> Iterator[list[Event]]:
        of_airflow = self.airflow_events()
        while True:
            found = [service for name, service in self._supervisor.services().items() if name in self._watched]
            yield [*self._log_lines(), *self._state_changes(found), *next(of_airflow, ())]
            for service in found:
                if service.has_failed:
                    raise ended_by_itself(service, self._tails[service.name])
                if service.state == "ORPHANED":
                    raise StackError(f"The supervisor died; its log is {self._supervisor.log('supervisor')}.")
            if not any(service.is_alive for service in found):
                return
            time.sleep(POLL_SECONDS)

    def _log_lines(self) -> Iterator[LogLine]:
        if "stream" in self._watched:
            yield from (LogLine(line) for line in self._tails["stream"].lines())

    def airflow_events(self) -> Iterator[list[Event]]:
        """For each round what there is to tell of Airflow."""
        if "airflow-api-server" not in self._watched:
            return
        deadline = time.monotonic() + AIRFLOW_READY_SECONDS
        while not airflow.is_healthy(self._settings):
            if time.monotonic() > deadline:
                logs = self._supervisor.log("airflow-*")
                raise StackError(f"Airflow is not well after {AIRFLOW_READY_SECONDS:.0f} s. Its logs are {logs}.")
            yield []
        yield [AirflowReady(airflow.url(self._settings))]
        while True:
            asked_at = time.monotonic()
            remark = airflow.idle(self._settings)
            yield [AirflowIdle(remark)] if remark else []
            while time.monotonic() < asked_at + AIRFLOW_TASKS_SECONDS:
                yield []

    def _state_changes(self, found: Sequence[Service]) -> Iterator[StateChange]:
        for service in found:
            if self._seen.get(service.name) != service.state:
                self._seen[service.name] = service.state
                yield StateChange(service, self._remark(service))

    def _remark(self, service: Service) -> str | None:
        if service.name != "simulate" or service.state != "EXITED" or service.has_failed:
            return None
        return (
            f"The feed has been played to its end. To begin again, delete {self._settings.home.resolve()}; "
            "`pts simulate --seed 43` adds another one."
        )


def ended_by_itself(service: Service, tail: LogTail) -> StackError:
    """The error that tells of a service which nobody stopped, with its own last words."""
    how = "was killed" if service.exit_code == KILLED else f"ended with exit code {service.exit_code}"
    return StackError(f"{service.name} {how}: {tail.last_error()} (log: {service.log})")
