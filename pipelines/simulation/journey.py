"""A package's life as it really happened: its routes and scans, before anything goes wrong on the way to the log."""

from collections.abc import Iterator
from random import Random

from pipelines.simulation.scans import (
    ARRIVED,
    CANCELLED,
    CLEARED,
    CREATED,
    DELIVERED,
    DEPARTED,
    EXCEPTIONS,
    FAILED,
    LOADED,
    PICKED_UP,
    RETURN_DEPARTED,
    RETURNED,
    SORTED,
    Route,
    Scan,
)
from pipelines.simulation.units import DAY_US, HOUR_US, MINUTE_US
from pipelines.simulation.world import PLACES, Place

FEWEST_STOPS, MOST_STOPS = 5, 15
OPENS_US, CLOSES_US = 6 * HOUR_US, 22 * HOUR_US
"""Vans and trucks move between these times of day, UTC."""

WITHDRAWN_SHARE = 0.005
"""Packages that are cancelled on the way: their route is withdrawn."""
REROUTED_SHARE = 0.04
"""Packages that get another end on the way, by a new route."""
RETURNED_SHARE = 0.015
"""Packages that go back to their sender, by a new route, after three failed days."""
DOORSTEP_SHARE = 0.01
"""Packages whose courier fails three times within an hour; delivered a day later."""
FAILED_ONCE_SHARE = 0.05
"""Packages that are delivered a day after one failed attempt."""
SORTED_SHARE = 0.8
"""Stops with a sorting scan between arrival and departure."""
EXCEPTION_SHARE = 0.015
"""Stops at which something happens to the package."""
CLEARED_SHARE = 0.01
"""Stops with a scan of customs, whose status code is none of the contract's."""


def journey(rng: Random, born_us: int) -> Iterator[Scan | Route]:
    """A package's routes and scans in the order of their times, none before `born_us`.

    Stops are numbered from 0, where it is picked up, to the end stop of the route in force: there it is delivered or
    given back, so the remaining stops fall to 0 unless the route is withdrawn.
    """
    draw = rng.random
    end = FEWEST_STOPS - 1 + int(draw() * (MOST_STOPS - FEWEST_STOPS + 1))
    places = rng.sample(PLACES, end + 1)
    turning_stop = 1 + int(draw() * (end - 1))
    fate = draw()
    yield Route(born_us, end)
    now = born_us + MINUTE_US + int(draw() * 5 * MINUTE_US)
    yield Scan(now, CREATED, 0, places[0])
    now = _opened(rng, now + HOUR_US + int(draw() * 4 * HOUR_US))
    yield Scan(now, PICKED_UP, 0, places[0])
    stop = 0
    while stop < end:
        now = _opened(rng, now + 15 * MINUTE_US + int(draw() * HOUR_US))
        yield Scan(now, DEPARTED, stop, places[stop])
        stop += 1
        place = places[stop]
        now += HOUR_US + int(draw() * 5 * HOUR_US)
        yield Scan(now, ARRIVED, stop, place)
        if draw() < SORTED_SHARE:
            now += 5 * MINUTE_US + int(draw() * HOUR_US)
            yield Scan(now, SORTED, stop, place)
        incident = draw()
        if incident < EXCEPTION_SHARE + CLEARED_SHARE:
            now += 5 * MINUTE_US + int(draw() * HOUR_US)
            yield Scan(now, CLEARED if incident < CLEARED_SHARE else rng.choice(EXCEPTIONS), stop, place)
        if stop == turning_stop and fate < WITHDRAWN_SHARE:
            yield Scan(now + MINUTE_US, CANCELLED, stop, place)
            yield Route(now + 2 * MINUTE_US, None)
            return
        if stop == turning_stop and fate < WITHDRAWN_SHARE + REROUTED_SHARE:
            end = _another_end(rng, stop, end)
            places[stop + 1 :] = rng.sample([other for other in PLACES if other not in places], end - stop)
            yield Route(now + MINUTE_US, end)
    yield from _last_mile(rng, now, end, place, sender=places[0])


def _last_mile(rng: Random, now: int, end: int, place: Place, sender: Place) -> Iterator[Scan | Route]:
    """From the arrival at the end stop to the door, or back to the sender, which is one stop more."""
    draw = rng.random
    fate = draw()
    failures_by_day: tuple[int, ...] = (0,)
    if fate < RETURNED_SHARE:
        failures_by_day = (1, 1, 1)
    elif fate < RETURNED_SHARE + DOORSTEP_SHARE:
        failures_by_day = (3, 0)
    elif fate < RETURNED_SHARE + DOORSTEP_SHARE + FAILED_ONCE_SHARE:
        failures_by_day = (1, 0)
    for failures in failures_by_day:
        now = _opened(rng, now + 15 * MINUTE_US + int(draw() * 2 * HOUR_US))
        yield Scan(now, LOADED, end, place)
        for _ in range(failures):
            now += 10 * MINUTE_US + int(draw() * 15 * MINUTE_US)
            yield Scan(now, rng.choice(FAILED), end, place)
        if failures:
            now += 12 * HOUR_US
    if failures_by_day[-1] == 0:
        yield Scan(now + 15 * MINUTE_US + int(draw() * 5 * HOUR_US), rng.choice(DELIVERED), end, place)
        return
    now = _opened(rng, now)
    yield Route(now, end + 1)
    yield Scan(now + 10 * MINUTE_US, RETURN_DEPARTED, end, place)
    yield Scan(now + DAY_US + int(draw() * DAY_US), RETURNED, end + 1, sender)


def _opened(rng: Random, epoch_us: int) -> int:
    """The time itself by day; at night, a moment of the next morning."""
    if OPENS_US <= epoch_us % DAY_US < CLOSES_US:
        return epoch_us
    return epoch_us + (OPENS_US - epoch_us) % DAY_US + int(rng.random() * 3 * HOUR_US)


def _another_end(rng: Random, stop: int, end: int) -> int:
    """One to four stops ahead, but not the end there was."""
    ahead = stop + 1 + int(rng.random() * 4)
    return ahead if ahead != end else ahead + 1
