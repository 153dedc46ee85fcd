"""A package's records: its journey, written down and sent, with what goes wrong on the way."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from random import Random
from typing import NamedTuple

from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES
from pipelines.simulation.draft import Draft
from pipelines.simulation.faults import EVENT_FAULTS, ROUTE_FAULTS
from pipelines.simulation.journey import journey
from pipelines.simulation.record import Record
from pipelines.simulation.scans import Route, Scan
from pipelines.simulation.units import HOUR_MS, SECOND_MS
from pipelines.simulation.wire import Encode, written_time
from pipelines.simulation.world import CARRIERS

LATE_ROUTE_SHARE = 0.02
"""Packages whose route reaches the log one to twelve hours late, after their first scans."""


class Encoders(NamedTuple):
    """How the values of each topic are written."""

    events: Encode
    routes: Encode


def package_records(rng: Random, number: int, born_us: int, encoders: Encoders) -> list[Record]:
    """All records of package `number` in the order in which they reach the log, none before `born_us`."""
    steps = list(journey(rng, born_us))
    records = [
        *_route_records(rng, number, (step for step in steps if isinstance(step, Route)), encoders.routes),
        *_event_records(rng, number, (step for step in steps if isinstance(step, Scan)), encoders.events),
    ]
    records.sort(key=attrgetter("timestamp_ms"))
    return records


def _event_records(rng: Random, number: int, scans: Iterable[Scan], encode: Encode) -> Iterator[Record]:
    carrier = rng.choice(CARRIERS)
    key, tracking_number = b"%d" % number, str(number)
    for occurred_us, kind, stop, place in scans:
        occurred_at = written_time(occurred_us, carrier)
        fields = (tracking_number, occurred_at, *kind, carrier.code, *place, str(stop))
        sent_ms = occurred_us // 1000 + 200 + int(rng.random() * 20 * SECOND_MS)
        luck = rng.random()
        if luck >= EVENT_FAULTS.share:
            yield Record(SHIP_EVENTS.name, key, encode(fields), sent_ms)
        else:
            yield from EVENT_FAULTS.at(luck)(Draft(SHIP_EVENTS, encode, carrier, key, fields, sent_ms), rng)


def _route_records(rng: Random, number: int, routes: Iterable[Route], encode: Encode) -> Iterator[Record]:
    """Routes keep their order on the log even when the first one is late: the last one sent is the one in force."""
    key, tracking_number = b"%d" % number, str(number)
    delay_ms = HOUR_MS + int(rng.random() * 11 * HOUR_MS) if rng.random() < LATE_ROUTE_SHARE else SECOND_MS
    earliest_ms = 0
    for version, (issued_us, end_stop) in enumerate(routes):
        sent_ms = max(earliest_ms, issued_us // 1000 + (SECOND_MS if version else delay_ms))
        earliest_ms = sent_ms + 10 * SECOND_MS
        if end_stop is None:
            yield Record(SHIP_ROUTES.name, key, None, sent_ms)
            continue
        fields = (str(number * 10 + version), tracking_number, str(end_stop))
        luck = rng.random()
        if luck >= ROUTE_FAULTS.share:
            yield Record(SHIP_ROUTES.name, key, encode(fields), sent_ms)
        else:
            yield from ROUTE_FAULTS.at(luck)(Draft(SHIP_ROUTES, encode, CARRIERS[0], key, fields, sent_ms), rng)
