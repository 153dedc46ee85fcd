"""What can happen to a package: the kinds of scans, and its routes."""

from typing import NamedTuple

from pipelines.contracts.rules import Status
from pipelines.simulation.world import Place


class Kind(NamedTuple):
    """What a scan says, in the order of the wire fields."""

    event_code: str
    status_code: str
    status_description: str


class Scan(NamedTuple):
    """A package was seen at a stop."""

    occurred_us: int
    kind: Kind
    stop: int
    place: Place


class Route(NamedTuple):
    """From now on the last stop of the package is this one; None: it has no route any more."""

    issued_us: int
    end_stop: int | None


CREATED = Kind("CRT", Status.CREATED.value, "Shipment created")
PICKED_UP = Kind("PUP", Status.PICKED_UP.value, "Picked up from sender")
ARRIVED = Kind("ARR", Status.IN_TRANSIT.value, "Arrived at facility")
SORTED = Kind("SRT", Status.IN_TRANSIT.value, "Sorted")
DEPARTED = Kind("DEP", Status.IN_TRANSIT.value, "Departed from facility")
CLEARED = Kind("CUS", "CU", "Cleared by customs")
LOADED = Kind("OFD", Status.OUT_FOR_DELIVERY.value, "Out for delivery")
CANCELLED = Kind("CAN", Status.EXCEPTION.value, "Cancelled by sender")
RETURN_DEPARTED = Kind("DEP", Status.RETURNING.value, "Departed, returning to sender")
RETURNED = Kind("RTS", Status.RETURNING.value, "Returned to sender")

DELIVERED = tuple(
    Kind("DLV", Status.DELIVERED.value, description)
    for description in ("Delivered", "Delivered, left at reception", "Delivered to neighbour", 'Signed "J. Müller"')
)
FAILED = tuple(
    Kind("ATT", Status.DELIVERY_FAILED.value, description)
    for description in ("Nobody home", "No access, gate closed", 'Refused: "not ordered"', "Address not found")
)
EXCEPTIONS = tuple(
    Kind("EXC", Status.EXCEPTION.value, description)
    for description in (
        "Weather delay",
        "Damaged, repacked",
        '"FRAGILE", but open',
        "Held by customs\nForm C14 is missing",
    )
)
