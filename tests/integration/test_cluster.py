"""The job on a cluster of real processes."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.benchmarks.processes import descendants, processes
from pipelines import commands
from pipelines.errors import LakeUnavailable
from pipelines.session import AOT_CACHE
from pipelines.settings import Settings
from pipelines.stack import simulate
from tests.brokers import empty_log
from tests.comparison import assert_lake_equals_log
from tests.hosts import MAY_MAKE_HOSTS, WITHOUT, needs_root
from tests.integration.log_reader import read_log
from tests.integration.pts_process import SHORT_LIVED, is_through, process, pts, settings_of, wait_for, wait_until
from tests.permissions import permitted_beyond
from tests.spark_cluster import Cluster, standalone

pytestmark = pytest.mark.long

FEED = commands.Simulate(seed=6, packages=200, rate=0, count=4_000)
BOTH = {
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
}
"""A job begins when both executors are there, and not when one of them could do the first batch alone."""


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the workers do not see, as one that their machines have not mounted."""
    return tmp_path_factory.mktemp("hidden")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, hidden: Path) -> Iterator[Cluster]:
    without = [*WITHOUT, str(hidden)] if MAY_MAKE_HOSTS else []
    with standalone(tmp_path_factory.mktemp("cluster"), dict.fromkeys(("first", "second"), without)) as found:
        yield found


def test_a_cluster_gives_the_same_tables_by_both_executors_also_when_one_is_lost(
    broker: str, cluster: Cluster, tmp_path: Path
) -> None:
    """One that says nothing more is lost on a host of its own: tests/docs/test_several_hosts.py."""
    with empty_log(broker, tmp_path, partitions=12) as settings:
        simulate.run(FEED, settings)
        environment = on(cluster, settings, "cluster", **BOTH) | {"PTS_STREAM__FOLLOW_SECONDS": "1"}
        with process(["stream"], environment, tmp_path / "job.log") as job:
            wait_for(tmp_path / "job.log", '"batch_id"')
            assert not shown_to_everybody(b"hunter2"), "in the arguments of a process"
            executors = shown_to_everybody(b"CoarseGrainedExecutorBackend")
            assert executors
            for pid in executors:
                assert str(AOT_CACHE.resolve()) in Path(f"/proc/{pid}/maps").read_text(), "as the driver's Java has it"
            for worker in ("first", "second"):
                assert any("Running task" in log.read_text() for log in (cluster.folder / worker).glob("*/*/stderr")), (
                    worker
                )
            os.kill(executors[0], signal.SIGKILL)
            simulate.run(FEED.model_copy(update={"seed": 7}), settings)
            lake, servers = settings.home / "cluster", str(settings.bootstrap_servers)
            wait_until(lambda: is_through(lake, servers), tmp_path / "job.log", every=0.5)
            job.terminate()
            assert job.wait(timeout=60) == 0
        assert_lake_equals_log(str(lake), read_log(servers))
    assert permitted_beyond(0o077, lake) == {}, "whatever the umask of the workers is"


def on(cluster: Cluster, settings: Settings, lake: str, **properties: str) -> dict[str, str]:
    """The environment of a job on the cluster, with these properties of Spark."""
    return settings_of(settings, lake, **cluster.variables(**SHORT_LIVED, **properties))


@needs_root
def test_folder_that_the_workers_do_not_have_is_refused(
    broker: str, cluster: Cluster, hidden: Path, tmp_path: Path
) -> None:
    with empty_log(broker, tmp_path) as settings:
        simulate.run(FEED, settings)
        refused = pts(["stream", "--drain"], on(cluster, settings, "lake") | {"PTS_LAKE": str(hidden / "lake")})
    assert refused.returncode == LakeUnavailable.exit_code, refused.stderr
    assert "The lake is a folder that not all workers have." in refused.stderr
    assert not list(hidden.rglob("*.parquet"))


def shown_to_everybody(word: bytes) -> list[int]:
    """Processes that this one, its cluster and its job have started, with the word in their arguments."""
    pids = (each.identity[0] for each in descendants(os.getpid(), processes(), set()))
    return [pid for pid in pids if word in arguments(pid)]


def arguments(pid: int) -> bytes:
    """Of a process, if it has not just ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
