"""The page *now*: how the job does, and how it did in the last minutes."""

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pipelines.board.view import View
from pipelines.checks.health import Reading, of_the_job
from pipelines.observability.background import Failures
from pipelines.processes.supervisor import Service, Supervisor
from pipelines.settings import Settings
from pipelines.state.heartbeat import last_beat
from pipelines.tables import OPS_BATCHES

MINUTES = 15
STEP_SECONDS = 10
SAMPLE_SECONDS = 2.0

IN_STEPS = f"""
    SELECT time_bucket(INTERVAL {STEP_SECONDS} SECONDS, committed_at) AS step_at, sum(read_count)::BIGINT AS read,
        sum(duplicate_count)::BIGINT AS duplicates, sum(quarantined_count)::BIGINT AS quarantined
    FROM (
        SELECT committed_at, unnest(counts, recursive := true) FROM {OPS_BATCHES.name}
        WHERE replay_id IS NULL AND committed_at > $1::TIMESTAMPTZ
    ) GROUP BY ALL ORDER BY step_at
"""


@dataclass(frozen=True)
class Chart:
    """A line over time: seconds since the epoch, and what was measured then."""

    title: str
    unit: str
    times: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class Now:
    """What the page shows.

    Attributes:
        lag_records: Records between the log's end and the job, as the heartbeat says; None without one.
        readings: What heartbeat and ledger tell, with the limits of `pts health`.
        totals: Records of the last `MINUTES` that were read, duplicates, and quarantined.
        per_second: Records read per second in the last minute.
        charts: The last minutes.
        services: Of the embedded stack, by name.
    """

    lag_records: int | None
    readings: tuple[Reading, ...]
    totals: Mapping[str, int]
    per_second: float
    charts: tuple[Chart, ...]
    services: Mapping[str, Service]


class Lags:
    """The lag of the last minutes, in seconds: the heartbeat knows only that of this moment."""

    def __init__(self, lake_root: str) -> None:
        self._lake_root = lake_root
        self._seen: deque[tuple[float, float]] = deque(maxlen=int(MINUTES * 60 / SAMPLE_SECONDS))

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Looks every few seconds, for as long as the block lasts."""
        is_over = threading.Event()

        def follow() -> None:
            failures = Failures()
            while not is_over.wait(SAMPLE_SECONDS):
                with failures.told("the lag is not followed"):
                    self.look(datetime.now(UTC))

        thread = threading.Thread(target=follow, name="lags", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def look(self, now: datetime) -> None:
        """Notes the lag; that of a job which is silent grows."""
        if told := last_beat(self._lake_root):
            self._seen.append((now.timestamp(), told["lag_seconds"] + max(0.0, (now - told["at"]).total_seconds() - 2)))

    def chart(self) -> Chart:
        seen = list(self._seen)
        return Chart("Lag", "s", tuple(at for at, _ in seen), tuple(round(lag, 1) for _, lag in seen))


def now_page(view: View, settings: Settings, lags: Lags, now: datetime) -> Now:
    """Reads heartbeat, ledger and supervisor."""
    steps = view.rows(IN_STEPS, now - timedelta(minutes=MINUTES))
    told = last_beat(settings.lake_root)
    minute = [step["read"] for step in steps if step["step_at"] > now - timedelta(minutes=1)]
    return Now(
        lag_records=told["lag_records"] if told else None,
        readings=tuple(of_the_job(settings, view.reader, now)),
        totals={name: sum(step[name] for step in steps) for name in ("read", "duplicates", "quarantined")},
        per_second=sum(minute) / 60,
        charts=(
            _chart("Records read", "read", steps, now),
            lags.chart(),
            _chart("Duplicates", "duplicates", steps, now),
            _chart("Quarantined", "quarantined", steps, now),
        ),
        services=Supervisor(settings).services(),
    )


def _chart(title: str, name: str, steps: list[dict[str, Any]], now: datetime) -> Chart:
    """Records per second, step by step; 0 where no batch was committed."""
    known = {int(step["step_at"].timestamp()): step[name] / STEP_SECONDS for step in steps}
    last = int(now.timestamp()) // STEP_SECONDS * STEP_SECONDS
    times = range(last - MINUTES * 60, last, STEP_SECONDS)
    return Chart(title, "records/s", tuple(times), tuple(round(known.get(time, 0.0), 1) for time in times))
