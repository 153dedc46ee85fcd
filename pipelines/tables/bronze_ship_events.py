"""`bronze.ship_events`: topic `ship-events`, record for record."""

from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.tables.bronze import archive_of

BRONZE_SHIP_EVENTS = archive_of(SHIP_EVENTS)
