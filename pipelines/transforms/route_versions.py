"""Which routes and withdrawals does a batch bring?"""

from pipelines.tables import SILVER_SHIP_ROUTES

ROUTE_VERSIONS = f"SELECT {', '.join(SILVER_SHIP_ROUTES.column_names)} FROM records WHERE reason IS NULL"
"""One row per accepted record of topic ship-routes; a withdrawal has neither route_id nor end_stop_id.

- `records`: judged records of topic ship-routes.
"""
