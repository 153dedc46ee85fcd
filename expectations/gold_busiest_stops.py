"""Expectations of the leaderboards."""

from expectations.truth import claimed

TRUTHS = (
    claimed(
        "busiest_stops_fill_the_board",
        catches="boards that were left behind when late scans brought a stop or a window.",
    ),
    claimed(
        "busiest_stops_are_the_busiest",
        catches="boards that were left behind when late scans changed the counts of their windows.",
    ),
)
