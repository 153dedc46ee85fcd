"""How long does it take to compare two large lakes, row for row, and are exactly the planted differences found?"""

import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from subprocess import PIPE
from typing import Any

from lab.benchmarks.contenders import Drain, pts
from lab.benchmarks.driving import LIMIT_SECONDS, RunFailed, end, parsed
from lab.benchmarks.growth import grow
from lab.benchmarks.processes import Tree
from lab.benchmarks.seeded_log import broker
from pipelines.code_version import fingerprint
from pipelines.errors import UndeclaredDifference
from pipelines.state.replay_records import Replay, Replays

PACKAGES = 100_000
PLANTED = {"silver.ship_events": (1, 2, 3)}
"""Rows missing, extra and changed that `drivers/grown_lake.py` plants in a table; every other table is equal."""


def comparison_of_ours(work: Path, logs: Path, scans: int) -> dict[str, Any]:
    """Two lakes of so many scans, made by the same driver, the second with planted differences; then `pts replay
    compare`. Raises `RunFailed` when it finds anything else than what was planted."""
    begin = str(int(time.time()))
    place = Drain("", "", str(work / "compared"))
    lake = place.path / "lake"
    with broker(work / "broker") as settings:
        live = Drain(settings.bootstrap_servers, "", place.folder)
        shadow = Drain(settings.bootstrap_servers, "", str(work / "planted"))
        grow(live, PACKAGES, scans, logs / "compared-live.log", begin)
        grow(shadow, PACKAGES, scans, logs / "compared-shadow.log", begin, "planted")
    (lake / "_shadow").mkdir()
    (shadow.path / "lake").rename(lake / "_shadow" / "planted")
    Replays(str(lake)).save(
        Replay(
            replay_id="planted",
            created_at=datetime.now(UTC),
            fence=0,
            begin={},
            steps=(),
            max_records=1,
            code=fingerprint(),
            built=0,
        )
    )
    found = _compared(live, logs / "compare.log")
    shutil.rmtree(place.path)
    return {"scans": scans, **found}


def _compared(place: Drain, log: Path) -> dict[str, Any]:
    began = time.monotonic()
    process = pts(place, "replay", "compare", "planted", "--json").start(log, stdout=PIPE)
    tree = Tree(process.pid)
    try:
        with tree.followed(every_seconds=1):
            said, _ = process.communicate(timeout=LIMIT_SECONDS)
        seconds = time.monotonic() - began
    finally:
        end(process)
    told = parsed(said)
    if told is None or process.returncode != UndeclaredDifference.exit_code:
        raise RunFailed(f"pts replay compare ended with {process.returncode}. Its log: {log}")
    tables = {table["table"]: table for table in told["tables"]}
    found = {name: tuple(table[kind] for kind in ("missing", "extra", "changed")) for name, table in tables.items()}
    if {name: counts for name, counts in found.items() if any(counts)} != PLANTED:
        raise RunFailed(f"The comparison found {found}, planted was {PLANTED}.")
    return {
        "row_count": sum(table["live_rows"] for table in tables.values()),
        "seconds": seconds,
        "resident_mib": tree.greatest_resident_mib(),
    }
