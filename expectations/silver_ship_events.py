"""Expectations of the scans."""

from expectations.accounting import rows_are_those_counted
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.tables import SILVER_SHIP_EVENTS

TRUTHS = (rows_are_those_counted(SILVER_SHIP_EVENTS, "accepted_count", f"topic.kafka_topic = '{SHIP_EVENTS.name}'"),)
