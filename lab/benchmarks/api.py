"""What does the customers' API do beside the job? Answers under load, and how soon a scan is an event at the client.

For every scan of the second half of the feed whose package has a stream: until a message about it is on
package-reports, and until an event about it is at the client. The difference is what the API adds.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.compute as pc

from lab.benchmarks.arrivals import Arrivals
from lab.benchmarks.contenders import Drain
from lab.benchmarks.delays import MESSAGES, until_message
from lab.benchmarks.driving import Command, RunFailed, end, parsed
from lab.benchmarks.freshness import SETTLE_SECONDS, fed, scans_on
from lab.benchmarks.live_job import live_job
from lab.benchmarks.processes import Tree
from lab.benchmarks.seeded_log import broker
from lab.benchmarks.steady_feed import append_routes
from pipelines.contracts.topics import PACKAGE_REPORTS
from pipelines.processes.supervisor import NICE
from pipelines.settings import Api, Settings
from pipelines.settings_variables import as_variables
from tests.ports import unused_ports

READY_SECONDS = 60.0
LEAD_SECONDS = 10.0
"""So much shorter than the feed clients ask: they first open their streams."""


@dataclass(frozen=True)
class Load:
    """Packages of the feed, its scans per second, its length, and streams and requests per second of the clients."""

    packages: int
    rate: int
    seconds: int
    streams: int
    requests: int


def api_of_ours(work: Path, logs: Path, load: Load) -> dict[str, Any]:
    """Job, broker, feed, API and its clients, all on this machine; the job has the priority that `pts up` gives it."""
    with broker(work / "broker") as settings:
        servers = settings.bootstrap_servers
        append_routes(servers, load.packages)
        place = Drain(servers, "", str(work / "ours"))
        with (
            live_job(place, logs / f"api-job-{load.rate}.jsonl", before=NICE) as job,
            served(settings, work, logs / f"api-{load.rate}.log", load) as (url, process),
            Arrivals(servers, PACKAGE_REPORTS.name) as arrivals,
        ):
            job.await_batches(lambda found: sum(batch["records"] for batch in found) >= load.packages, SETTLE_SECONDS)
            _await_reports(url, load.streams)
            events = work / "events.json"
            clients = _clients(url, load, events).start(logs / f"api-clients-{load.rate}.log", stdout=PIPE)
            try:
                tree = Tree(process.pid)
                before, began = tree.cpu_seconds(), time.monotonic()
                with tree.followed(every_seconds=1):
                    costs = fed(servers, load.packages, load.rate, load.seconds, Tree(job.process.pid))
                used, measured = tree.cpu_seconds() - before, time.monotonic() - began
                ended_at = time.time()
                said, _ = clients.communicate(timeout=SETTLE_SECONDS)
            finally:
                end(clients)
            answers = parsed(said)
        if answers is None:
            raise RunFailed("The clients ended without a word.")
        scans = scans_on(servers, work)
        at_clients = pa.table([pa.array(column) for column in json.loads(events.read_text())], schema=MESSAGES)
        followed = scans.filter(pc.less_equal(scans["package"], load.streams))
        since = ended_at - load.seconds / 2
        return {
            "streams": load.streams,
            "answers": answers,
            "topic": asdict(until_message(followed, arrivals.table(), since)),
            "client": asdict(until_message(followed, at_clients, since)),
            "cpu_share": used / measured,
            "resident_mib": tree.greatest_resident_mib(),
            "feed_behind_seconds": costs["feed_behind_seconds"],
            "job_resident_mib": costs["resident_mib"],
        }


@contextmanager
def served(settings: Settings, work: Path, log: Path, load: Load) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """`pts api` in a home of its own, once it is ready. Its clients have one address, so limits are those of many."""
    api = Api(
        port=unused_ports()[0],
        streams=load.streams + 100,
        client_streams=load.streams + 100,
        requests_per_second=10 * load.requests,
        client_requests_per_second=10 * load.requests,
    )
    own = settings.model_copy(update={"home": work / "api", "api": api})
    command = Command((sys.executable, "-m", "pipelines.cli", "api"), as_variables(own))
    process = command.start(log, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + READY_SECONDS
        while not _is_there(f"{api.url}/readyz"):
            if time.monotonic() > deadline or process.poll() is not None:
                raise RunFailed(f"pts api does not get ready. Its output: {log}")
            time.sleep(0.1)
        yield api.url, process
    finally:
        end(process)


def _await_reports(url: str, streams: int) -> None:
    """Returns when the API has reports of the packages that will be asked for, as far as a look at some tells."""
    deadline = time.monotonic() + READY_SECONDS
    while not all(_is_there(f"{url}/packages/{number}") for number in range(1, streams + 1, 97)):
        if time.monotonic() > deadline:
            raise RunFailed("The API does not get the reports.")
        time.sleep(0.1)


def _is_there(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.TransportError:
        return False


def _clients(url: str, load: Load, events: Path) -> Command:
    arguments = (url, load.streams, load.requests, load.seconds - LEAD_SECONDS, events)
    return Command((sys.executable, "-m", "lab.benchmarks.api_clients", *map(str, arguments)), {})
