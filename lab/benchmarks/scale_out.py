"""What do more executors cost and bring, and what a lake in an object store? All of it on one machine."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from lab.benchmarks import sample
from lab.benchmarks.contenders import Drain, pts
from lab.benchmarks.driving import LIMIT_SECONDS, RunFailed
from lab.benchmarks.growth import LEAST_BATCHES
from lab.benchmarks.live_job import batches, live_job
from lab.benchmarks.seeded_log import append_seeded, broker, dump
from lab.benchmarks.steady_feed import append_routes, append_scans
from pipelines.settings import Kafka, Settings
from pipelines.settings_variables import as_variables
from tests.spark_cluster import standalone
from tests.stores import new_bucket, object_store, requests

PARTITIONS = 12
BATCHES = 5
"""Of a drain: the first finds Java and Python cold, and does not count."""


def by_executors(
    work: Path, logs: Path, scans: int, packages: int, executors: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Drains one log by so many executors of one core each, on a standalone cluster; by 0 of them, within the job."""
    with broker(work / "broker", Kafka(partitions=PARTITIONS)) as settings:
        append_seeded(settings, scans, packages)
        dump(settings.bootstrap_servers, work / "log.parquet")
        for count in executors:
            place, output = work / f"by-{count}", logs / f"executors-{count}.jsonl"
            with _cluster_of(count, place / "cluster") as variables:
                variables |= {"PTS_STREAM__MAX_RECORDS_PER_BATCH": str(scans // BATCHES)}
                drain = pts(Drain(settings.bootstrap_servers, "", str(place)), "stream", "--drain", **variables)
                began = time.monotonic()
                drain.run(output.with_suffix(".log"), output)
                seconds = time.monotonic() - began
            sample.check(sample.expected(work / "log.parquet"), f"{place}/lake")
            shutil.rmtree(place)
            late = [line for line in batches(output) if line["records"]][1:]
            yield {
                "executors": count,
                "seconds": seconds,
                "batch_seconds": median(line["duration_seconds"] for line in late),
                "records_per_batch": median(line["records"] for line in late),
            }


@contextmanager
def _cluster_of(count: int, folder: Path) -> Iterator[dict[str, str]]:
    """So many executors, and the settings of a job that has them; none is a setting, too."""
    if not count:
        yield {}
        return
    folder.mkdir(parents=True)
    with standalone(folder, {f"worker-{number}": () for number in range(count)}) as cluster:
        yield cluster.variables() | {"PTS_SPARK__SHUFFLE_PARTITIONS": str(count)}


def by_place(work: Path, logs: Path, packages: int, rate: int, seconds: int) -> Iterator[dict[str, Any]]:
    """The same feed into a lake in a folder, and into one in a bucket; the second half of it counts."""
    for name in ("folder", "store"):
        with ExitStack() as held:
            settings = held.enter_context(broker(work / name / "broker"))
            place = Drain(settings.bootstrap_servers, "", str(work / name / "ours"))
            append_routes(place.servers, packages)
            variables = {}
            if name == "store":
                storage = held.enter_context(object_store(work / name))
                variables = as_variables(Settings(storage=storage)) | {"PTS_LAKE": f"{new_bucket(storage)}/pts"}
            job = held.enter_context(live_job(place, logs / f"lake-in-{name}.jsonl", variables))
            job.await_batches(bool, LIMIT_SECONDS)  # of routes: the job has started
            append_scans(place.servers, packages, rate, seconds / 2)
            before, asked = len(job.batches()), len(requests(work / name))
            append_scans(place.servers, packages, rate, seconds / 2)
            late, asked = job.batches()[before:], len(requests(work / name)) - asked
        if len(late) < LEAST_BATCHES:
            raise RunFailed(f"Only {len(late)} batches within {seconds / 2} s. Their lines: {job.output}")
        yield {
            "place": name,
            "rate": rate,
            "batch_seconds": median(line["duration_seconds"] for line in late),
            "records_per_batch": median(line["records"] for line in late),
            "requests_per_batch": asked / len(late),
        }
