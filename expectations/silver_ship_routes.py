"""Expectations of the routes."""

from expectations.accounting import rows_are_those_counted
from pipelines.contracts.topics import SHIP_ROUTES
from pipelines.tables import SILVER_SHIP_ROUTES

TRUTHS = (rows_are_those_counted(SILVER_SHIP_ROUTES, "accepted_count", f"kafka_topic = '{SHIP_ROUTES.name}'"),)
