"""The job on several hosts, as the page says; each of them is cut off or killed in mid-batch."""

import logging
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from pipelines import commands
from pipelines.errors import AnotherWriter, BrokerUnavailable
from pipelines.live import topics
from pipelines.settings import Kafka, Settings, Storage
from pipelines.settings_variables import as_variables
from tests.comparison import assert_lake_equals_log
from tests.docs.conftest import Documented
from tests.docs.pages import ROOT
from tests.hosts import ADDRESS, Host, needs_root, network
from tests.integration.log_reader import read_log
from tests.integration.pts_process import ONE_COMPILER, is_through, wait_for, wait_until
from tests.stores import new_bucket, object_store, reached

pytestmark = [pytest.mark.long, needs_root]

FEED = commands.Simulate(seed=11, packages=10_000, rate=50, count=1_000_000)
LOG = logging.getLogger(__name__)
AWAY_SECONDS = 20
"""Longer than any patience: a worker is given up, a lease is anybody's."""

INTERVALS = {"PTS_STREAM__TRIGGER_SECONDS": "5", "PTS_STREAM__FOLLOW_SECONDS": "5"}
"""Without them, batches alone would have all of the machine."""

PATIENCE_SECONDS = 300
"""Five Java processes start on the cores of one machine."""

PYTHON = ROOT / ".venv" / "bin" / "python"


class Site:
    """Processes on hosts, and what they say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment: dict[str, str] = {}
        self._running: list[subprocess.Popen[bytes]] = []

    def log(self, host: Host) -> Path:
        return self.folder / f"{host.name}.log"

    def start(self, host: Host, script: str, variables: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        home = self.folder / host.name
        own = self.environment | {"PTS_HOME": str(home), "WORK": str(home / "work"), "ADDRESS": host.address}
        with self.log(host).open("ab") as out:
            started = subprocess.Popen(
                host.does("bash", "-euc", script), cwd=ROOT, env=own | dict(variables), stdout=out, stderr=out
            )
        self._running.append(started)
        return started

    def end(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()


@contextmanager
def site(folder: Path, hosts: Mapping[str, Host]) -> Iterator[Site]:
    """Nothing runs on any of the hosts at the end."""
    made = Site(folder)
    try:
        yield made
    finally:
        for host in hosts.values():
            host.signal(signal.SIGKILL)
        made.end()


def started_again(block: str) -> str:
    """The block, by a service manager: what fails in the end is started again, with the settings before it."""
    return f"{before_last_line(block)}\nuntil {block.rstrip().splitlines()[-1]}; do sleep 1; done"


def before_last_line(block: str) -> str:
    """Its settings."""
    return block.rstrip().rpartition("\n")[0]


def log_on(host: Host, site: Site) -> Settings:
    """A broker there, with the topics."""
    site.start(host, f"exec {PYTHON} -m tests.hosts broker", {ADDRESS: host.address})
    settings = Settings(
        home=site.folder / "here",
        kafka=Kafka.model_validate(
            {"bootstrap_servers": f"{host.address}:9092", "partitions": 2, "security": {"allow_plaintext": True}}
        ),
    )

    def has_topics() -> bool:
        try:
            topics.run(commands.Topics(), settings)
        except BrokerUnavailable:
            return False
        return True  # also where an earlier try has made them, and was not told so

    wait_until(has_topics, site.log(host))
    return settings


def test_whoever_is_lost_no_row_is(documented: Documented, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A worker is cut off, and then the driver, whose place another one takes. With `--every-loss`, a command is cut
    off, too, and there is what other tests do on one host: a worker and the driver are killed, the broker and the store
    are away for a while.
    """
    every_loss = request.config.getoption("--every-loss")
    names = ("log", "store", "master", "first", "second", "driver", "spare")
    with network(*names) as hosts, object_store(tmp_path, hosts["store"]) as storage, site(tmp_path, hosts) as running:
        lake = f"{new_bucket(storage)}/pts"
        settings = log_on(hosts["log"], running)
        running.environment = environment_of(settings, storage, lake)
        documented.folder = ROOT
        documented.environment |= running.environment
        running.environment["MASTER"] = hosts["master"].address
        documented.run("umask 077")
        master = running.start(hosts["master"], documented.take("export PTS_SPARK__SECRET"), {})
        wait_for(running.log(hosts["master"]), "I have been elected leader")
        worker = started_again(documented.take("export PTS_SPARK__SECRET"))
        for name in ("first", "second"):
            running.start(hosts[name], worker, {})
        wait_for(running.log(hosts["master"]), "Registering worker", count=2)
        running.start(hosts["log"], f"exec {PYTHON} -m pipelines.cli {' '.join(FEED.argv())}", {})
        job = started_again(documented.take("export PTS_SPARK__SECRET"))
        running.start(hosts["driver"], job, {})

        def goes_on(what: str, host: str = "driver") -> None:
            log, since = running.log(hosts[host]), time.monotonic()
            before = committed(log)
            for more in (1, 2):  # the first may have begun before
                wait_until(partial(has_committed, log, before + more), log, PATIENCE_SECONDS)
                LOG.info("%s: batch %d after %.0f s", what, more, time.monotonic() - since)

        goes_on("the job starts")
        await_task(running, hosts["first"])
        hosts["first"].cut_off()
        goes_on("a worker is cut off")
        hosts["first"].join()
        if every_loss:
            hosts["second"].signal(signal.SIGKILL, "java")
            goes_on("a worker is killed")
            for name in ("log", "store"):
                away(hosts[name])
                goes_on(f"{name} was away for {AWAY_SECONDS} s")
            hosts["driver"].signal(signal.SIGKILL, "python")
            goes_on("the driver is killed")
        assert master.poll() is None

        spare = running.start(hosts["spare"], job, {})
        wait_for(running.log(hosts["spare"]), "This job stands by")
        await_task(running, hosts["second"])
        hosts["driver"].cut_off()
        goes_on("the driver is cut off, and another takes over", "spare")
        hosts["driver"].join()
        wait_for(running.log(hosts["driver"]), "This job stands by")
        hosts["driver"].signal(signal.SIGKILL)
        if every_loss:
            is_lost_in_mid_build(running, hosts["driver"], hosts["second"], before_last_line(job))
        hosts["log"].signal(signal.SIGTERM, "simulate")
        servers = str(settings.bootstrap_servers)
        with reached(storage):
            wait_until(lambda: is_through(lake, servers), running.log(hosts["spare"]), PATIENCE_SECONDS, every=1)
            hosts["spare"].signal(signal.SIGTERM, "pts\0stream")  # arguments, not the text of its shell
            assert spare.wait(timeout=PATIENCE_SECONDS) == 0, running.log(hosts["spare"]).read_text()[-3000:]
            assert_lake_equals_log(lake, read_log(servers))


def await_task(site: Site, worker: Host, application: str = "*") -> None:
    """Until it begins one: a batch is under way."""

    def begun() -> int:
        logs = (site.folder / worker.name / "work").glob(f"{application}/*/stderr")
        return sum(log.read_text().count("Running task") for log in logs)

    before = begun()
    wait_until(lambda: begun() > before, site.log(worker), PATIENCE_SECONDS)


def is_lost_in_mid_build(site: Site, host: Host, worker: Host, variables: str) -> None:
    """A replay's build that is cut off while its tasks run ends, though its executors are gone for ever."""
    work = site.folder / worker.name / "work"
    known = set(work.iterdir())
    build = site.start(host, f"{variables}\nexec .venv/bin/pts replay build lost", {})
    wait_until(lambda: set(work.iterdir()) > known, site.log(host), PATIENCE_SECONDS)
    (application,) = set(work.iterdir()) - known
    await_task(site, worker, application.name)
    away(host)
    assert build.wait(timeout=PATIENCE_SECONDS) == AnotherWriter.exit_code, site.log(host).read_text()[-3000:]
    assert "Traceback" not in site.log(host).read_text()


def committed(log: Path) -> int:
    """Batches of which a job's log tells."""
    return log.read_text().count('"batch_id"')


def has_committed(log: Path, count: int) -> bool:
    return committed(log) >= count


def environment_of(settings: Settings, storage: Storage, lake: str) -> dict[str, str]:
    told = as_variables(settings.model_copy(update={"storage": storage}))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PTS_")}
    own = {"PTS_LAKE": lake, "SECRET": str(settings.home.with_name("spark-secret.json")), "PYTHONPATH": str(ROOT)}
    return inherited | told | own | {"JAVA_TOOL_OPTIONS": ONE_COMPILER} | INTERVALS


def away(host: Host) -> None:
    host.cut_off()
    time.sleep(AWAY_SECONDS)
    host.join()
