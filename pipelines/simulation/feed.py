"""The feed: what all packages send, merged in the order in which it reaches the log."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from heapq import heappop, heappush, heapreplace
from random import Random

from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES
from pipelines.simulation.package import Encoders, package_records
from pipelines.simulation.record import Record
from pipelines.simulation.units import DAY_US
from pipelines.simulation.wire import encoder
from pipelines.wire_format import WireFormat

__all__ = ["Record", "feed"]

PACKAGES_PER_DAY = 2_000
LONGEST_ARRIVAL_DAYS = 21
"""Packages arrive evenly, so many a day; faster where there are so many that they would not fit into these days.

A package is under way for two to three days and rarely for more than a week, so everything happens within five weeks.
"""


def feed(
    seed: int,
    packages: int,
    start: datetime,
    events_format: WireFormat = "csv",
    routes_format: WireFormat = "csv",
) -> Iterator[Record]:
    """Records of both topics, by ascending timestamp, of packages 1 to `packages`; the first is born at `start`.

    A pure function of its parameters: no clock, no hash seed, no locale or time zone, and no function of the C library
    whose last digit differs between machines. Each package has its own stream of random numbers. Packages are created
    when they are due and forgotten when they are through, so memory follows the packages under way.
    """
    interval_us = min(DAY_US // PACKAGES_PER_DAY, LONGEST_ARRIVAL_DAYS * DAY_US // packages)
    encoders = Encoders(encoder(SHIP_EVENTS, events_format), encoder(SHIP_ROUTES, routes_format))
    rng = Random()
    born_us = (start - EPOCH) // timedelta(microseconds=1)
    unborn = iter(range(1, packages + 1))
    number = next(unborn, None)
    under_way: list[tuple[int, int, list[Record]]] = []
    while under_way or number is not None:
        while number is not None and (not under_way or born_us // 1000 <= under_way[0][0]):
            rng.seed(f"{seed}/{number}")
            records = package_records(rng, number, born_us, encoders)
            records.reverse()
            heappush(under_way, (records[-1].timestamp_ms, number, records))
            number = next(unborn, None)
            born_us += interval_us
        _, due, records = under_way[0]
        yield records.pop()
        if records:
            heapreplace(under_way, (records[-1].timestamp_ms, due, records))
        else:
            heappop(under_way)
