"""Expectations of how busy the stops are."""

from expectations.truth import claimed

TRUTHS = (
    claimed(
        "stop_activity_counts_every_scan",
        catches="late scans that were not added, scans that were added twice, or under another stop.",
    ),
)
