"""`pts status`: where the parts of the stack are, and how each service does."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pipelines
from pipelines.processes import airflow
from pipelines.processes.supervisor import Service
from pipelines.settings import Settings
from pipelines.stack import stack

SITE = Path(pipelines.__file__).parents[1] / "var" / "site" / "index.html"
"""Where `make site` builds the documentation."""


@dataclass(frozen=True)
class Status:
    """The stack of one home.

    Attributes:
        places: Addresses and folders, by what is there.
        services: Every service, running or not.
        remark: What is to be done about an Airflow that starts no task; None where it does, or does not run.
    """

    places: Mapping[str, str]
    services: tuple[Service, ...]
    remark: str | None

    def as_json(self) -> dict[str, Any]:
        services = {
            each.name: {"state": each.state, "pid": each.pid, "exit_code": each.exit_code, "log": str(each.log)}
            for each in self.services
        }
        return {**self.places, "services": services}


def status(settings: Settings) -> Status:
    """The stack as it is now; it starts nothing."""
    services = stack.services(settings)
    places = {
        "bootstrap_servers": settings.bootstrap_servers,
        "home": str(settings.home.resolve()),
        "lake": settings.lake_root,
        "airflow": airflow.url(settings),
        "api": settings.api.url,
        "board": settings.board.url,
        **_metrics(settings),
        "sql": settings.sql.url,
    }
    if SITE.is_file():
        places["documentation"] = SITE.as_uri()
    remark = airflow.idle(settings) if services["airflow-scheduler"].is_alive else None
    return Status(places, tuple(services.values()), remark)


def _metrics(settings: Settings) -> dict[str, str]:
    """Where Prometheus reads, of each service that has such a port."""
    own = settings.metrics
    ports = {
        "stream_metrics": own.port,
        "api_metrics": own.api_port,
        "sql_metrics": own.sql_port,
        "seal_metrics": own.seal_port,
    }
    found = {name: f"http://127.0.0.1:{port}/metrics" for name, port in ports.items() if port}
    return {**found, "board_metrics": f"{settings.board.url}/metrics"}
