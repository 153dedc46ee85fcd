"""Scans of known packages, created now, at a steady rate.

    .venv/bin/python -m lab.benchmarks.steady_feed <bootstrap servers> <packages> <rate> <seconds>

Runs in a process of its own, so that neither the job nor the measuring slows it. Prints how far it fell behind. The
scans of a package go through its stops; places and statuses are drawn from the simulated world.
"""

import json
import random
import sys
import time
from datetime import UTC, datetime

from confluent_kafka import Producer

from lab.benchmarks.driving import Command
from pipelines.simulation.world import CARRIERS, PLACES

END_STOP = 1_000
STATUSES = ("IT",) * 90 + ("OD",) * 4 + ("DL",) * 4 + ("DF",) * 2
SLICE_SECONDS = 0.005


def command(servers: str, packages: int, rate: int, seconds: float) -> Command:
    """The feed as a process."""
    arguments = map(str, (servers, packages, rate, seconds))
    return Command((sys.executable, "-m", "lab.benchmarks.steady_feed", *arguments), {})


def producer(servers: str) -> Producer:
    """As the product's, but without its wait for larger batches: what is measured begins here."""
    return Producer(
        {
            "bootstrap.servers": servers,
            "linger.ms": 5,
            "compression.type": "lz4",
            "partitioner": "murmur2",
            "enable.idempotence": True,
        }
    )


def append_routes(servers: str, packages: int) -> None:
    """One route for each package, so that each scan makes a report."""
    to = producer(servers)
    for package in range(1, packages + 1):
        to.produce("ship-routes", key=str(package), value=f"{package},{package},{END_STOP}")
        to.poll(0)
    to.flush()


def append_scans(servers: str, packages: int, rate: int, seconds: float) -> float:
    """Returns by how many seconds it ended too late."""
    to = producer(servers)
    dice = random.Random(1)
    stops = [0] * (packages + 1)
    wanted = round(rate * seconds)
    started, sent = time.monotonic(), 0
    while sent < wanted:
        due = min(wanted, int((time.monotonic() - started) * rate))
        for _ in range(due - sent):
            package = dice.randrange(1, packages + 1)
            stops[package] = (stops[package] + 1) % END_STOP
            to.produce("ship-events", key=str(package), value=_scan(package, stops[package], dice))
        to.poll(0)
        sent = due
        time.sleep(SLICE_SECONDS)
    to.flush()
    return time.monotonic() - started - seconds


def _scan(package: int, stop: int, dice: random.Random) -> str:
    moment = datetime.now(UTC).isoformat()[:26] + "Z"
    place = PLACES[(package + stop) % len(PLACES)]
    city = f'"{place.city}"' if "," in place.city else place.city
    carrier = CARRIERS[package % len(CARRIERS)].code
    status = dice.choice(STATUSES)
    return (
        f"{package},{moment},ARR,{status},Arrived at facility,{carrier},"
        f"{place.country},{place.state},{city},{place.postal_code},{stop}"
    )


def main() -> None:
    servers, packages, rate, seconds = sys.argv[1:]
    behind = append_scans(servers, int(packages), int(rate), float(seconds))
    sys.stdout.write(json.dumps({"behind_seconds": round(behind, 2)}) + "\n")


if __name__ == "__main__":
    main()
