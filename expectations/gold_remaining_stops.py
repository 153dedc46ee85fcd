"""Expectations of the reports."""

from expectations.truth import Truth, claimed

TRUTHS = (
    claimed(
        "reports_are_of_all_packages",
        catches="packages that nobody can find, and reports of packages that nobody scanned.",
    ),
    claimed(
        "reports_show_the_latest_scan",
        catches="people who are told an old place, because a scan went past the report.",
    ),
    claimed(
        "reports_show_the_last_route",
        catches="people who are told the stops of a route that was changed or withdrawn.",
    ),
    claimed(
        "reports_say_what_their_records_say",
        catches="people who are told what no record says: another place, another number of stops.",
    ),
    Truth(
        name="negative_stops_share",
        meaning="Share of the known remaining stops that is below 0.",
        sql="SELECT avg((number_of_remaining_stops < 0)::INT) FROM gold.remaining_stops",
        catches="packages that go beyond the end of their route: routes that come late, or are planned wrongly.",
        remedy="look at a few with `pts report`, and tell who plans the routes; a new route mends the report.",
        severity="warning",
        within=lambda quality: (0, quality.negative_stops_share),
    ),
)
