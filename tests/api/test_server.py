"""`pts api` as a process, without a broker."""

import gc
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

from pipelines.api import server
from pipelines.api.app import Service
from pipelines.api.server import Server
from pipelines.errors import ApiUnavailable
from pipelines.processes.signals import StopRequest
from pipelines.settings import Api
from pipelines.web.server import listener
from tests.api.makers import Stand, message, stand
from tests.integration.pts_process import process, wait_until
from tests.permissions import permitted_beyond
from tests.ports import listening, unused_ports

pytestmark = pytest.mark.slow


def environment(home: Path, port: int) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PTS_")}
    own = {"PTS_HOME": str(home), "PTS_API__PORT": str(port), "PTS_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1"}
    return inherited | own


def run(variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipelines.cli", "api"]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)


def status(port: int, path: str) -> int:
    try:
        return httpx.get(f"http://127.0.0.1:{port}{path}").status_code
    except httpx.TransportError:
        return 0


def test_server_waits_for_brokers_is_alone_in_its_home_and_ends_when_asked_to(tmp_path: Path) -> None:
    (port, other), log = unused_ports(), tmp_path / "api.log"
    with process(["api"], environment(tmp_path / "home", port), log) as running:
        wait_until(lambda: status(port, "/healthz") == 200, log, 60)
        assert status(port, "/readyz") == 503
        second = run(environment(tmp_path / "home", other))
        assert second.returncode == ApiUnavailable.exit_code
        assert second.stderr == f"pts: Another `pts api` serves {tmp_path}/home, process {running.pid}.\n"
        assert permitted_beyond(0o077, tmp_path / "home") == {}
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=60) == 0
    assert "Traceback" not in log.read_text()


def test_taken_port_is_a_sentence_and_spark_is_never_loaded(tmp_path: Path) -> None:
    with listening() as port:
        found = run(environment(tmp_path, port) | {"PYTHONPROFILEIMPORTTIME": "1"})
    imported = {line.rpartition("|")[2].strip() for line in found.stderr.splitlines() if "import time:" in line}
    assert "fastapi" in imported
    assert imported.isdisjoint({"pyspark", "pyarrow", "duckdb", "deltalake", "pandas"})
    assert found.returncode == ApiUnavailable.exit_code
    assert found.stderr.splitlines()[-1] == (
        f"pts: 127.0.0.1 port {port} cannot be used: Address already in use. Set PTS_API__HOST and PTS_API__PORT."
    )


def test_open_files_are_as_many_as_streams_where_the_system_permits() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(soft + 10, hard)
    try:
        server.allow_files(wanted)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (wanted, hard)
        server.allow_files(wanted - 5)
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (wanted, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def served(made: Stand, port: int, stop: StopRequest) -> Server:
    service = Service(made.store.entry, lambda: None, made.hub, made.limits, made.wait_seconds)
    return Server(Api(port=port), service, stop)


def test_feed_that_ends_ends_the_server(tmp_path: Path) -> None:
    with stand(tmp_path, message(0)) as made:
        api = Api(port=unused_ports()[0])
        running = served(made, api.port, StopRequest())
        made.store.apply = None  # type: ignore[method-assign, assignment]
        made.topic.add(message(1, 7))
        made.feed.publish = running.publish
        with listener(api.host, api.port, ApiUnavailable, "PTS_API__") as socket, pytest.raises(TypeError):
            running.serve_beside(made.feed, socket)


def test_while_it_serves_all_objects_are_looked_through_ten_times_as_rarely(tmp_path: Path) -> None:
    with stand(tmp_path, message(0)) as made:
        api, stop = Api(port=unused_ports()[0]), StopRequest()
        before, meanwhile = gc.get_threshold(), set()

        def publish(*_: object) -> None:
            meanwhile.add(gc.get_threshold())
            stop.set()

        made.feed.publish = publish
        with listener(api.host, api.port, ApiUnavailable, "PTS_API__") as socket:
            served(made, api.port, stop).serve_beside(made.feed, socket)
        assert meanwhile == {(*before[:2], 10 * before[2])}
        assert gc.get_threshold() == before


def test_open_stream_gets_news_and_does_not_keep_the_server_from_ending(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with stand(tmp_path, message(0)) as made:
        api, stop = Api(port=unused_ports()[0]), StopRequest()
        running = served(made, api.port, stop)
        made.feed.publish = running.publish
        told: list[str] = []

        def listen() -> None:
            with httpx.stream("GET", f"{api.url}/packages/42/events", timeout=20) as answer:
                for line in answer.iter_lines():
                    told.append(line)
                    if line.startswith("data") and len(told) < 10:
                        made.topic.add(message(len(made.topic.partitions[0]), stop=len(told)))
                    elif line.startswith("data"):
                        stop.set()

        client = threading.Thread(target=listen)
        with listener(api.host, api.port, ApiUnavailable, "PTS_API__") as socket:
            client.start()
            running.serve_beside(made.feed, socket)
        client.join(timeout=60)
        assert not client.is_alive()
        assert sum(line == "event: report" for line in told) >= 3
    assert caplog.messages == [], "no stream had to be cancelled"
