"""How fast is the main job? Drains a simulated log from nothing, then follows a steady feed; prints one JSON object.

    .venv/bin/python -m tests.benchmarks.main_job [--records 1000000] [--packages 100000] [--rate 2000] [--seconds 180]

Each part has a broker and a lake of its own in a scratch folder. The drain is the wall time of `pts stream --drain`,
process start and cold JVM included; beside it stands the speed of the last full batch, when the JVM is warm. Freshness
is the time from a scan's Kafka timestamp (the moment at which its producer created it) to the Delta commit of
gold.remaining_stops after its batch, over the second half of the feed. Memory is resident, sampled every second; the
greatest median of five samples is reported, because a process that is just being forked seems to double its parent.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from confluent_kafka import Producer

from pipelines import commands
from pipelines.io.reader import LakeReader
from pipelines.jobs import simulate, stack, topics
from pipelines.settings import Broker, Settings
from tests.ports import unused_ports

MIB = 1024 * 1024


@contextmanager
def broker(home: Path) -> Iterator[Settings]:
    """An embedded broker with topics."""
    port, controller_port = unused_ports()
    settings = Settings(home=home, broker=Broker(port=port, controller_port=controller_port))
    stack.start(["broker"], settings, lambda _: None)
    try:
        topics.run(commands.Topics(), settings)
        yield settings
    finally:
        stack.stop(settings, lambda _: None)


def drain(records: int, packages: int) -> dict[str, Any]:
    """Seconds and records/s of a drain."""
    with tempfile.TemporaryDirectory() as home, broker(Path(home)) as settings:
        feed = simulate.run(commands.Simulate(seed=1, packages=packages, count=records, rate=0), settings)
        environment = os.environ | {
            "PTS_HOME": home,
            "PTS_BROKER__PORT": str(settings.broker.port),
            "PTS_BROKER__CONTROLLER_PORT": str(settings.broker.controller_port),
        }
        started = time.monotonic()
        command = [sys.executable, "-m", "pipelines.cli", "stream", "--drain"]
        output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
        seconds = time.monotonic() - started
        batches = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        fullest = max(batch["records"] for batch in batches)
        warm = [batch["records_per_second"] for batch in batches if batch["records"] > 0.9 * fullest]
        return {
            "records": records,
            "packages": packages,
            "simulated_records_per_second": round(feed.records_per_second),
            "seconds_from_process_start": round(seconds, 1),
            "records_per_second_from_process_start": round(records / seconds),
            "records_per_second_of_last_full_batch": warm[-1],
        }


def freshness(rate: int, seconds: int) -> dict[str, Any]:
    """Quantiles of append -> visible at a steady rate, and the memory of the stack."""
    with tempfile.TemporaryDirectory() as home, broker(Path(home)) as settings:
        stack.start(["stream"], settings, lambda _: None)
        resident: list[int] = []
        done = threading.Event()
        sampler = threading.Thread(target=_sample, args=(settings, resident, done))
        sampler.start()
        produce(settings.bootstrap_servers, rate, seconds)
        time.sleep(30)
        done.set()
        sampler.join()
        reader = LakeReader(settings.lake_root)
        visible = {
            entry["version"]: datetime.fromtimestamp(entry["timestamp"] / 1000, UTC)
            for entry in reader.open("gold.remaining_stops").history()
        }
        rows = reader.query(
            "SELECT list_filter(b.tables, lambda t: t.table_name = 'gold.remaining_stops')[1].version AS version, "
            "e.kafka_timestamp FROM ops.batches b, unnest(b.offsets) AS u(o) JOIN bronze.ship_events e "
            "ON o.kafka_topic = 'ship-events' AND e.kafka_partition = o.kafka_partition "
            "AND e.kafka_offset >= o.start_offset AND e.kafka_offset < o.end_offset"
        ).to_pylist()
        middle = (
            min(row["kafka_timestamp"] for row in rows)
            + (max(row["kafka_timestamp"] for row in rows) - min(row["kafka_timestamp"] for row in rows)) / 2
        )
        windows = [resident[start : start + 5] for start in range(len(resident) - 4)]
        delays = sorted(
            (visible[row["version"]] - row["kafka_timestamp"]).total_seconds()
            for row in rows
            if row["kafka_timestamp"] > middle
        )
        return {
            "scans_per_second": rate,
            "scans_measured": len(delays),
            **{f"p{part}_seconds": round(delays[int(len(delays) * part / 100)], 1) for part in (50, 95, 99)},
            "greatest_resident_mib": round(max(map(median, windows)) / MIB),
        }


def produce(bootstrap_servers: str, rate: int, seconds: int) -> None:
    """Scans of 20,000 packages, created now, at a steady rate."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 20, "partitioner": "murmur2"})
    dice = random.Random(1)
    stops = [0] * 20_000
    for package in range(1, len(stops)):
        producer.produce("ship-routes", key=str(package), value=f"{package},{package},1000")
        producer.poll(0)
    started = time.monotonic()
    for number in range(rate * seconds):
        if (ahead := number / rate - (time.monotonic() - started)) > 0.01:
            time.sleep(ahead)
        package = dice.randrange(1, len(stops))
        stops[package] += 1
        moment = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        value = f"{package},{moment},ARR,IT,in transit,UPS,FR,IDF,Paris,75001,{stops[package]}"
        producer.produce("ship-events", key=str(package), value=value)
        producer.poll(0)
    producer.flush()


def _sample(settings: Settings, resident: list[int], done: threading.Event) -> None:
    while not done.wait(1):
        roots = {service.pid for service in stack.services(settings).values() if service.pid}
        resident.append(sum(_resident_bytes(roots)))


def _resident_bytes(roots: set[int]) -> Iterator[int]:
    """Of the processes and all that they started (Linux)."""
    parents, sizes = {}, {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = (folder / "status").read_text()
            except OSError:  # it ended meanwhile
                continue
            fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
            parents[int(folder.name)] = int(fields["PPid"])
            sizes[int(folder.name)] = int(fields.get("VmRSS", "0 kB").split()[0]) * 1024
    for pid, size in sizes.items():
        ancestor = pid
        while ancestor > 1 and ancestor not in roots:
            ancestor = parents.get(ancestor, 0)
        if ancestor in roots:
            yield size


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--packages", type=int, default=100_000)
    parser.add_argument("--rate", type=int, default=2_000)
    parser.add_argument("--seconds", type=int, default=180)
    given = parser.parse_args()
    found = {"drain": drain(given.records, given.packages), "freshness": freshness(given.rate, given.seconds)}
    sys.stdout.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
