"""Expectations of the alerts."""

from expectations.truth import claimed

TRUTHS = (
    claimed(
        "failed_delivery_alerts_are_all_there",
        catches="packages in trouble of which nobody is told, and alerts for nothing.",
    ),
)
