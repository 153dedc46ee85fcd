"""`bronze.ship_routes`: topic `ship-routes`, record for record."""

from pipelines.contracts.topics import SHIP_ROUTES
from pipelines.tables.bronze import archive_of

BRONZE_SHIP_ROUTES = archive_of(SHIP_ROUTES)
