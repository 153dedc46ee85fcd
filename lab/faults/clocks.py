"""Time gone wrong: hosts in zones that change their clocks, producers a day off, and moments that never were."""

import time
from datetime import UTC, datetime, timedelta

from lab.faults.scene import Scene
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.producer import LogProducer

CHANGES = (
    (datetime(2026, 3, 8, 7, tzinfo=UTC), "America/New_York"),
    (datetime(2026, 11, 1, 6, tzinfo=UTC), "America/New_York"),
    (datetime(2026, 3, 29, 1, tzinfo=UTC), "Europe/Berlin"),
    (datetime(2026, 10, 25, 1, tzinfo=UTC), "Europe/Berlin"),
    (datetime(2026, 4, 4, 15, tzinfo=UTC), "Australia/Lord_Howe"),  # half an hour
    (datetime(2026, 10, 3, 15, 30, tzinfo=UTC), "Australia/Lord_Howe"),
)
"""Moments at which clocks are changed, and where (the IANA time zone database)."""

ZONES = ("America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "Pacific/Kiritimati")
"""Others, far from UTC or not by whole hours."""

DAY_SECONDS = 86_400
START_SECONDS = 12
"""What a job takes to begin, about."""

RATE = 1_500
"""A few seconds of it are two days of the feed."""

IN_2099 = datetime(2099, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
TEXTS = (
    *("2016-12-31T23:59:60", "2016-12-31T23:59:60Z", "2026-06-30T23:59:60.5"),  # the first was a leap second
    *("2026-02-29T12:00:00", "2024-02-29T12:00:00", "2026-03-29T24:00:00"),
    *("2026-03-29T02:30:00", "2026-03-29T02:30:00+01:00", "2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"),
    *("1883-11-18T12:03:58-04:56", "0001-01-01T00:00:00+18:00", "9999-12-31T23:59:59-18:00"),
)
"""Leap seconds and days, hours that a zone skips or has twice, and offsets that leave the calendar."""


def wrong(scene: Scene) -> None:
    """Each start of the job in another zone, under producers whose clocks are right, a day behind and a day ahead. One
    zone changes its clocks within what they tell, and while the job runs.
    """
    scene.records_per_batch = 10_000
    change, changing = scene.chance.choice(CHANGES)
    zones = scene.chance.sample((changing, *scene.chance.sample(ZONES, 3)), 4)
    begin = (change - timedelta(hours=6)).isoformat()
    with scene.auditor.watching():
        for off in scene.chance.sample((0, -DAY_SECONDS, DAY_SECONDS), 3):
            scene.zone = zones.pop()
            scene.clock_off = round((change - datetime.now(UTC)).total_seconds()) - START_SECONDS
            feed = ("--start", begin, "--clock-off", str(off))
            scene.auditor.note_fault(is_outage=False)
            with scene.load(RATE, *feed), scene.pts("stream") as (job, log):
                scene.await_batch(log, job)
                time.sleep(3)
                scene.stop(job, log)
            _send_odd_moments(scene, change)
        scene.zone, scene.clock_off = zones.pop(), 0
        day = change.replace(hour=0, minute=0)
        scene.done("stream", "--drain")
        scene.done("backfill", "--from", f"{day:%Y-%m-%d}", "--to", f"{day + timedelta(days=1):%Y-%m-%d}")
        scene.judge()


def _send_odd_moments(scene: Scene, change: datetime) -> None:
    """A scan of 2099, once by a clock of that year and once by a right one, and texts that name odd moments."""
    right, of_2099 = (int(moment.timestamp() * 1000) for moment in (change, IN_2099))
    told = [(IN_2099.isoformat(), of_2099), (IN_2099.isoformat(), right), *((text, right) for text in TEXTS)]
    producer = LogProducer(Connection(scene.servers))
    producer.append(
        (SHIP_EVENTS.name, b"7", f"7,{text},SCAN,IT,,,,,,,{stop}".encode(), moment_ms)
        for stop, (text, moment_ms) in enumerate(told, 1)
    )
    producer.flush()
