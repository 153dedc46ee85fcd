"""How long does `pts up` take until Airflow answers, and how much memory do its services keep?"""

import shutil
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lab.benchmarks.processes import Tree
from pipelines.processes.supervisor import GROUPS
from pipelines.settings import Airflow, Broker, Settings
from pipelines.stack import stack
from tests.ports import unused_ports

WATCHED_SECONDS = 120.0
EVERY_SECONDS = 1.0


def stack_of_ours(home: Path) -> dict[str, Any]:
    """The whole stack, in a new home and then once more in the same one; memory is that of the second time."""
    (port, controller_port), (airflow_port, _) = unused_ports(), unused_ports()
    broker = Broker(port=port, controller_port=controller_port)
    settings = Settings(home=home, broker=broker, airflow=Airflow(port=airflow_port))
    found: dict[str, Any] = {}
    try:
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


def _resident(settings: Settings) -> dict[str, int]:
    """MiB by service, with all that it started; pages that processes share count once for each."""
    trees = {name: Tree(service.pid) for name, service in stack.services(settings).items() if service.pid}
    with ExitStack() as followed:
        for tree in trees.values():
            followed.enter_context(tree.followed(EVERY_SECONDS))
        time.sleep(WATCHED_SECONDS)
    found = {name: tree.greatest_resident_mib() for name, tree in trees.items()}
    return {
        "airflow_mib": sum(found[name] for name in GROUPS["airflow"]),
        "others_mib": sum(mib for name, mib in found.items() if name not in GROUPS["airflow"]),
    }
