"""How long does `pts up` take until Airflow answers, how much memory do its services keep, and what do they cost while
nothing happens?
"""

import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lab.benchmarks.driving import LIMIT_SECONDS, RunFailed
from lab.benchmarks.processes import Tree
from pipelines.processes.supervisor import GROUPS
from pipelines.settings import Airflow, Broker, Settings
from pipelines.stack import stack
from pipelines.state.heartbeat import last_beat
from tests.ports import unused_ports
from tests.waiting import becomes

WATCHED_SECONDS = 120.0
EVERY_SECONDS = 1.0
QUIET_AFTER_SECONDS = 10.0
QUIET_SECONDS = 60.0


def stack_of_ours(home: Path) -> dict[str, Any]:
    """Broker and job by themselves; then the whole stack, in a new home and once more in the same one: memory is that
    of the second time.
    """
    (port, controller_port), (airflow_port, _) = unused_ports(), unused_ports()
    broker = Broker(port=port, controller_port=controller_port)
    settings = Settings(home=home, broker=broker, airflow=Airflow(port=airflow_port))
    found: dict[str, Any] = {}
    try:
        stack.start(["stream"], settings, lambda _: None)
        found |= _at_rest(settings)
        stack.stop(settings, lambda _: None)
        shutil.rmtree(home)
        for name in ("first_ready_seconds", "ready_seconds"):
            began = time.monotonic()
            stack.start([], settings, lambda _: None)
            found[name] = time.monotonic() - began
            if name == "ready_seconds":
                found |= _resident(settings)
            stack.stop(settings, lambda _: None)
    finally:
        stack.stop(settings, lambda _: None)
        shutil.rmtree(home, ignore_errors=True)
    return found


def _at_rest(settings: Settings) -> dict[str, float]:
    """Cores that job and broker use where the log is empty and stays so."""
    if not becomes(lambda: last_beat(settings.lake_root) is not None, LIMIT_SECONDS):
        raise RunFailed("the job has not begun")
    time.sleep(QUIET_AFTER_SECONDS)
    trees = _trees(settings)
    before = {name: tree.cpu_seconds() for name, tree in trees.items()}
    time.sleep(QUIET_SECONDS)
    used = {name: (tree.cpu_seconds() - before[name]) / QUIET_SECONDS for name, tree in trees.items()}
    return {"job_at_rest_cores": used["stream"], "broker_at_rest_cores": used["broker"]}


def _trees(settings: Settings) -> dict[str, Tree]:
    """The services that run, by name."""
    return {name: Tree(service.pid) for name, service in stack.services(settings).items() if service.pid}


def _resident(settings: Settings) -> dict[str, int]:
    """MiB by service, with all that it started; pages that processes share count once for each."""
    trees = _trees(settings)
    with ExitStack() as followed:
        for tree in trees.values():
            followed.enter_context(tree.followed(EVERY_SECONDS))
        time.sleep(WATCHED_SECONDS)
    found = {name: tree.greatest_resident_mib() for name, tree in trees.items()}
    return {
        "airflow_mib": sum(found[name] for name in GROUPS["airflow"]),
        "others_mib": sum(mib for name, mib in found.items() if name not in GROUPS["airflow"]),
    }
