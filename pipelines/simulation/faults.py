"""What goes wrong between a scan and the log, and how often: the unpleasant share of the feed.

A record that the contract rejects comes in addition to the good one, as from a device that was put right and sent
again. So what the log says about a package stays true, and a rejected record that leaks into a table shows.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import accumulate
from random import Random

from pipelines.simulation.corruption import (
    bad_type,
    empty,
    from_the_future,
    key_mismatch,
    malformed,
    missing_field,
    not_utf8,
    out_of_range,
    too_late,
    withdrawal_of_nothing,
)
from pipelines.simulation.draft import Draft
from pipelines.simulation.record import Record
from pipelines.simulation.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

Fault = Callable[[Draft, Random], list[Record]]
"""The records that reach the log in place of the one that should."""


def late(draft: Draft, rng: Random) -> list[Record]:
    """Ten minutes to six days late, mostly hours: a device without a network."""
    luck = rng.random()
    return [draft.record(delay_ms=10 * MINUTE_MS + int(luck * luck * luck * 6 * DAY_MS))]


def overtaken(draft: Draft, rng: Random) -> list[Record]:
    """One to nine hours late, so that one or more of the package's next scans come first."""
    return [draft.record(delay_ms=HOUR_MS + int(rng.random() * 8 * HOUR_MS))]


def repeated_at_once(draft: Draft, rng: Random) -> list[Record]:
    """The same bytes again within seconds: a producer's retry."""
    return [draft.record(), draft.record(delay_ms=int(rng.random() * 5 * SECOND_MS))]


def repeated_later(draft: Draft, rng: Random) -> list[Record]:
    """The same bytes again after an hour to six days: a device that uploads its memory a second time."""
    return [draft.record(), draft.record(delay_ms=HOUR_MS + int(rng.random() * 6 * (DAY_MS - HOUR_MS)))]


def incomplete(draft: Draft, rng: Random) -> list[Record]:
    """Some or all optional fields are null, which the contract allows."""
    for field in draft.topic.fields:
        if not field.is_required and rng.random() < 0.6:
            draft = draft.with_field(field.name, "")
    return [draft.record()]


def ending_with_line_break(draft: Draft, rng: Random) -> list[Record]:
    """One line break after the value, which the contract allows."""
    return [draft.spoiled(draft.key, draft.value() + rng.choice((b"\n", b"\r\n")))]


def _sent_again(spoil: Callable[[Draft, Random], Record]) -> Fault:
    """A rejected record, and the good one shortly after it."""

    def fault(draft: Draft, rng: Random) -> list[Record]:
        return [spoil(draft, rng), draft.record(delay_ms=2 * SECOND_MS)]

    return fault


class Faults:
    """Faults with the share of records that each one hits."""

    def __init__(self, shares: Mapping[Fault, float]) -> None:
        self._faults = tuple(shares)
        self._bounds = tuple(accumulate(shares.values()))
        self.share = self._bounds[-1]
        """Share of records that any fault hits."""

    def at(self, luck: float) -> Fault:
        """The fault that belongs to a number below `share`, drawn evenly from [0, 1)."""
        return self._faults[bisect_right(self._bounds, luck)]


EVENT_FAULTS = Faults(
    {
        late: 0.015,
        overtaken: 0.010,
        repeated_at_once: 0.010,
        repeated_later: 0.005,
        incomplete: 0.010,
        ending_with_line_break: 0.002,
        _sent_again(empty): 0.002,
        _sent_again(not_utf8): 0.002,
        _sent_again(malformed): 0.003,
        _sent_again(missing_field): 0.003,
        _sent_again(bad_type): 0.003,
        _sent_again(out_of_range): 0.002,
        _sent_again(key_mismatch): 0.002,
        _sent_again(from_the_future): 0.003,
        _sent_again(too_late): 0.002,
    }
)

ROUTE_FAULTS = Faults(
    {
        repeated_at_once: 0.010,
        ending_with_line_break: 0.002,
        _sent_again(empty): 0.002,
        _sent_again(not_utf8): 0.002,
        _sent_again(malformed): 0.003,
        _sent_again(missing_field): 0.003,
        _sent_again(bad_type): 0.003,
        _sent_again(out_of_range): 0.003,
        _sent_again(key_mismatch): 0.003,
        _sent_again(withdrawal_of_nothing): 0.003,
    }
)
"""A route sent again much later would be in force again, so there are no late repetitions here."""
