"""Does a batch take longer when the lake is larger? The same feed, on lakes that hold more and more."""

import shutil
from pathlib import Path
from statistics import median
from typing import Any

from lab.benchmarks.contenders import Drain, module, product_variables
from lab.benchmarks.driving import Command, RunFailed
from lab.benchmarks.live_job import live_job
from lab.benchmarks.seeded_log import broker
from lab.benchmarks.steady_feed import append_scans

LEAST_BATCHES = 5
"""In the half of the feed that counts."""


def growth_of_ours(work: Path, logs: Path, packages: int, scans: int, rate: int, seconds: int) -> dict[str, Any]:
    """A lake with reports of so many packages and so many scans behind it; then a feed of scans of these packages."""
    name = f"grown-{packages}-{scans}"
    with broker(work / "broker") as settings:
        place = Drain(settings.bootstrap_servers, "", str(work / name))
        grow(place, packages, scans, logs / f"{name}.log")
        with live_job(place, logs / f"{name}.jsonl") as job:
            append_scans(place.servers, packages, rate, seconds)
            batches = job.batches()
    late = [line for line in batches[len(batches) // 2 :] if line["records"]]
    if len(late) < LEAST_BATCHES:
        raise RunFailed(f"Only {len(late)} batches within {seconds} s. Their lines: {logs / name}.jsonl")
    found = {
        "packages": packages,
        "scans": scans,
        "rate": rate,
        "batch_seconds": median(line["duration_seconds"] for line in late),
        "records_per_batch": median(line["records"] for line in late),
        "lake_mib": sum(path.stat().st_size for path in place.path.rglob("*.parquet")) / 2**20,
    }
    shutil.rmtree(place.path)
    return found


def grow(place: Drain, packages: int, scans: int, log: Path, *more: str) -> None:
    """Makes the lake of `drivers/grown_lake.py`; `more` are its further arguments."""
    driver = module("grown_lake", product_variables(place))
    command = Command((*driver.argv, str(packages), str(scans), place.servers, *more), driver.environment)
    command.run(log, output=log)
