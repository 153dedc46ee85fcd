"""Airflow's REST API, as tests use it."""

import json
import re
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipelines.processes import airflow
from pipelines.settings import Settings

MOST_SECONDS = 600.0
READING_SECONDS = 2.0


class Known(dict[str, str]):
    """Values of names; a name without one stays as it is."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


@dataclass(frozen=True)
class Api:
    """Airflow's REST API, for somebody who logged in.

    Attributes:
        scheduler_log: What the scheduler beside it says.
    """

    url: str
    scheduler_log: Path
    token: str = ""

    @classmethod
    def of(cls, settings: Settings, password: str, username: str = "admin") -> "Api":
        person, log = {"username": username, "password": password}, settings.home / "logs" / "airflow-scheduler.log"
        nobody = cls(airflow.url(settings), log)
        return replace(nobody, token=nobody.call("/auth/token", person)["access_token"])

    def call(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> Any:
        """The answer, parsed; POST with a body, GET without, unless told otherwise."""
        return json.loads(self.fetch(path, body, method))

    def fetch(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> bytes:
        headers = {"Content-Type": "application/json"} | (
            {"Authorization": f"Bearer {self.token}"} if self.token else {}
        )
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            found: bytes = answer.read()
        return found

    def make(self, username: str, role: str, password: str) -> None:
        """Somebody who has a role."""
        person = {"username": username, "email": f"{username}@localhost.invalid", "first_name": username}
        body = person | {"last_name": role, "roles": [{"name": role}], "password": password}
        self.call("/auth/fab/v1/users", body)

    def refusal(self, path: str, body: dict[str, Any] | None = None, method: str | None = None) -> int | None:
        """With which code it is refused; None where it is not."""
        try:
            self.fetch(path, body, method)
        except urllib.error.HTTPError as error:
            return error.code
        return None

    def pages(self, names: dict[str, str]) -> dict[str, bytes]:
        """All that can be read with GET whose path has no other names in it, by path; also what a refusal says. But for
        the page by which one logs out, after which nothing more would be shown.
        """
        found = {}
        for path, methods in self.call("/openapi.json")["paths"].items():
            filled = path.format_map(Known(names))
            if "get" in methods and "{" not in filled and "logout" not in filled:
                try:
                    found[filled] = self.fetch(filled)
                except urllib.error.HTTPError as error:
                    found[filled] = error.read()
        return found

    def runs(self, dag_id: str, like: str) -> list[dict[str, Any]]:
        """Those whose name begins so, oldest start first."""
        found = self.call(f"/api/v2/dags/{dag_id}/dagRuns?order_by=start_date")["dag_runs"]
        return [run for run in found if run["dag_run_id"].startswith(like)]

    def finished(self, dag_id: str, like: str, count: int = 1) -> list[dict[str, Any]]:
        """So many of these runs, when all of them have come to an end."""
        deadline = time.monotonic() + MOST_SECONDS
        while True:
            runs = self.runs(dag_id, like)
            if len(runs) == count and all(run["state"] in ("success", "failed") for run in runs):
                return runs
            assert time.monotonic() < deadline, runs
            time.sleep(1)

    def result(self, run: dict[str, Any], task_id: str) -> Any:
        """What the task's command said."""
        path = f"/api/v2/dags/{run['dag_id']}/dagRuns/{run['dag_run_id']}/taskInstances/{task_id}"
        return self.call(f"{path}/xcomEntries/return_value?deserialize=true")["value"]

    def start(self, dag_id: str, **params: Any) -> None:
        """A run by hand."""
        self.call(f"/api/v2/dags/{dag_id}/dagRuns", {"logical_date": None, "conf": params})

    def run(self, dag_id: str, **params: Any) -> dict[str, Any]:
        """The same, when it has come to its end."""
        before = len(self.runs(dag_id, "manual"))
        self.start(dag_id, **params)
        return self.finished(dag_id, "manual", before + 1)[-1]

    def asked(self, run: dict[str, Any]) -> dict[str, Any]:
        """What a person is asked, when a run of `replay` has come so far, who reads before the answer.

        The worker of a task that has asked ends some 5 s later; Airflow 3.3 fails a task that is answered before its
        scheduler knows of that (`process_executor_events` in scheduler_job_runner.py).
        """
        deadline = time.monotonic() + MOST_SECONDS
        while (states := self.states(run)).get("approve") != "awaiting_input":
            assert time.monotonic() < deadline, states
            assert not {"failed", "upstream_failed"} & set(states.values()), states
            time.sleep(1)
        event = re.compile(rf"executor event .*task_id='approve', run_id='{re.escape(run['dag_run_id'])}'")
        while not event.search(self.scheduler_log.read_text(encoding="utf-8")):
            assert time.monotonic() < deadline, event.pattern
            time.sleep(1)
        time.sleep(READING_SECONDS)
        found: dict[str, Any] = self.call(_detail(run))
        return found

    def answer(self, run: dict[str, Any], chosen: str) -> None:
        """What the person says."""
        self.call(_detail(run), {"chosen_options": [chosen], "params_input": {}}, "PATCH")

    def states(self, run: dict[str, Any]) -> dict[str, str | None]:
        """Of its tasks, by name."""
        path = f"/api/v2/dags/{run['dag_id']}/dagRuns/{run['dag_run_id']}/taskInstances"
        return {task["task_id"]: task["state"] for task in self.call(path)["task_instances"]}


def password_in(said: list[str]) -> str:
    """The one that the stack told at its first start."""
    (password,) = (found[1] for line in said if (found := re.search(r"with the password (\S+),", line)))
    return password


def _detail(run: dict[str, Any]) -> str:
    return f"/api/v2/dags/replay/dagRuns/{run['dag_run_id']}/taskInstances/approve/-1/hitlDetails"
