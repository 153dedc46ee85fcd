"""How fresh are the results of a running job? A steady feed, and two clocks that are read from outside.

For every scan of the second half of the feed: until its row is visible in gold.remaining_stops, which is the Delta
commit that the ledger names for its batch, and until a message about it arrives at a consumer of package-reports.
"""

import time
from dataclasses import asdict
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pyarrow as pa

from lab.benchmarks import steady_feed
from lab.benchmarks.arrivals import Arrivals
from lab.benchmarks.contenders import Drain
from lab.benchmarks.delays import COMMITS, scans_in, until_commit, until_message
from lab.benchmarks.driving import Driver, RunFailed, end, parsed
from lab.benchmarks.flink import peer as flink
from lab.benchmarks.live_job import (
    EARLY_BATCH,
    LATE_BATCH,
    first_batch_seconds,
    live_job,
    seconds_around,
)
from lab.benchmarks.processes import Tree
from lab.benchmarks.seeded_log import broker, dump
from lab.benchmarks.steady_feed import append_routes, append_scans
from pipelines.contracts.topics import PACKAGE_REPORTS, SHIP_EVENTS
from pipelines.io.duckdb.reader import LakeReader

SETTLE_SECONDS = 120.0
"""How long after the end of the feed its last scans may take to show."""
GOLD = "gold.remaining_stops"
SMALL = 1_000


def freshness_of_ours(work: Path, logs: Path, packages: int, rate: int, seconds: int) -> dict[str, Any]:
    """The live job, started together with the feed on an empty lake."""
    with broker(work / "broker") as settings:
        servers = settings.bootstrap_servers
        append_routes(servers, packages)
        place = Drain(servers, "", str(work / "ours"))
        with (
            live_job(place, logs / f"ours-{rate}.jsonl") as job,
            Arrivals(servers, PACKAGE_REPORTS.name) as arrivals,
        ):
            costs = fed(servers, packages, rate, seconds, Tree(job.process.pid))
            ended_at = time.time()
            wanted = packages + rate * seconds
            is_through = job.await_batches(lambda found: sum(b["records"] for b in found) >= wanted, SETTLE_SECONDS)
            settled_seconds = time.time() - ended_at if is_through else None
        batches, scans, since = job.batches(), scans_on(servers, work), ended_at - seconds / 2
        return {
            **costs,
            "gold": asdict(until_commit(scans, _commits(place), since)),
            "topic": asdict(until_message(scans, arrivals.table(), since)),
            "settled_seconds": settled_seconds,
            "first_batch_seconds": first_batch_seconds(batches, job.started_at),
            "early_batch_seconds": seconds_around(batches, EARLY_BATCH),
            "late_batch_seconds": seconds_around(batches, LATE_BATCH),
            "batch_seconds": [line["duration_seconds"] for line in batches],
        }


def freshness_of_flink(work: Path, logs: Path, packages: int, rate: int, seconds: int) -> dict[str, Any]:
    """Flink's join of scans and routes into a topic, with a checkpoint each second."""
    with broker(work / "broker") as settings:
        servers, folder = settings.bootstrap_servers, work / "flink"
        append_routes(servers, packages)
        driver = Driver("flink", flink.command("latency", folder), logs / f"flink-{rate}.log")
        try:
            driver.ask(f"start {flink.script('latency', servers, folder)}")
            with Arrivals(servers, flink.reports_topic(folder)) as arrivals:
                costs = fed(servers, packages, rate, seconds, Tree(driver.process.pid))
                ended_at = time.time()
                arrivals.await_quiet(SETTLE_SECONDS)
        finally:
            driver.kill()
        return {
            **costs,
            "topic": asdict(until_message(scans_on(servers, work), arrivals.table(), ended_at - seconds / 2)),
        }


def starts_of_ours(work: Path, logs: Path) -> dict[str, Any]:
    """From the start of `pts stream` to the commit of its first batch: on an empty lake, and once more on that lake."""
    found = {}
    with broker(work / "broker") as settings:
        place = Drain(settings.bootstrap_servers, "", str(work / "ours"))
        for name in ("first_start_seconds", "restart_seconds"):
            append_routes(place.servers, SMALL)
            append_scans(place.servers, SMALL, SMALL, 1)
            with live_job(place, logs / f"{name}.jsonl") as job:
                job.await_batches(bool, SETTLE_SECONDS)
                found[name] = first_batch_seconds(job.batches(), job.started_at)
    return found


def fed(servers: str, packages: int, rate: int, seconds: int, tree: Tree) -> dict[str, Any]:
    """Runs the feed to its end; tells what the job costs meanwhile, CPU over the second half."""
    process = steady_feed.command(servers, packages, rate, seconds).start(Path("/dev/null"), stdout=PIPE)
    try:
        with tree.followed(every_seconds=1):
            time.sleep(seconds / 2)
            before, began = tree.cpu_seconds(), time.monotonic()
            said, _ = process.communicate(timeout=seconds + SETTLE_SECONDS)
            used, measured = tree.cpu_seconds() - before, time.monotonic() - began
    finally:
        end(process)
    told = parsed(said)
    if told is None:
        raise RunFailed("The feed ended without a word.")
    return {
        "feed_behind_seconds": told["behind_seconds"],
        "cpu_seconds_per_million": used / (rate * measured) * 1_000_000,
        "resident_mib": tree.greatest_resident_mib(),
    }


def scans_on(servers: str, work: Path) -> pa.Table:
    """All scans on the log, as `delays.SCANS`."""
    dump(servers, work / "log.parquet")
    return scans_in(work / "log.parquet")


def _commits(place: Drain) -> pa.Table:
    """Which part of ship-events became visible in gold when, as `delays.COMMITS`.

    A batch is visible with the first one after which the table is at its position or a later one.
    """
    lake = place.path / "lake"
    rows = (
        LakeReader(str(lake))
        .query(
            "SELECT batch_id, offsets, list_filter(tables, lambda t: t.table_name = $1)[1] AS gold "
            "FROM ops.batches ORDER BY batch_id",
            [GOLD],
        )
        .to_pylist()
    )
    found = []
    for row in rows:
        shown = next((later for later in rows if later["gold"]["position"] >= row["batch_id"]), None)
        if shown is None:
            continue
        commit = lake / GOLD.replace(".", "/") / "_delta_log" / f"{shown['gold']['version']:020}.json"
        visible_at = commit.stat().st_mtime
        for part in row["offsets"]:
            if part["kafka_topic"] == SHIP_EVENTS.name:
                found.append(
                    {
                        "kafka_partition": part["kafka_partition"],
                        "start_offset": part["start_offset"],
                        "end_offset": part["end_offset"],
                        "visible_at": visible_at,
                    }
                )
    return pa.Table.from_pylist(found, COMMITS)
