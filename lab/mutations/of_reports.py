"""Which scan is the latest, which route is in force, and what the report makes of the two."""

from lab.mutations.mutation import Mutation

RULES = "pipelines/contracts/rules.py"
REMAINING = "pipelines/transforms/remaining_stops.py"
VERSIONS = "pipelines/transforms/route_versions.py"
MESSAGES = "pipelines/transforms/package_reports.py"

REPORTS = "tests/transforms/test_remaining_stops.py"
TIES = f"{REPORTS}::test_ties_are_broken_by_each_part_of_the_order"
LATE_SCAN = f"{REPORTS}::test_late_scan_does_not_take_the_report_back"
AGAIN = f"{REPORTS}::test_folding_a_batch_again_changes_nothing"
OLDER_ROUTE = f"{REPORTS}::test_route_with_an_older_timestamp_is_not_in_force"
WITHDRAWN = f"{REPORTS}::test_withdrawn_route_leaves_none_but_its_coordinates"
INCOMPLETE = f"{REPORTS}::test_report_needs_a_scan_and_a_route"
SCAN_FIRST = f"{REPORTS}::test_scan_may_come_before_its_route"
NEW_ROUTE = f"{REPORTS}::test_new_route_changes_the_report_without_a_new_scan"
T_MESSAGES = "tests/transforms/test_package_reports.py"
WHOLE_MESSAGE = f"{T_MESSAGES}::test_message_tells_the_report_and_the_coordinates_of_scan_and_route"
ALL_MEMBERS = f"{T_MESSAGES}::test_message_has_every_member_also_where_there_is_nothing_to_say"
SMALL_MESSAGE = f"{T_MESSAGES}::test_message_is_small_enough_for_any_producer_however_long_the_status_code_is"

LATEST_SCAN = "Latest scan: greatest (occurred_at, current_stop_id, delivered, then the log's order)"
ROUTE_IN_FORCE = "Route in force: greatest (kafka_timestamp, kafka_partition, kafka_offset)"
WITHDRAWAL = "A withdrawn route leaves none"
REPORT = "number_of_remaining_stops = end_stop_id - current_stop_id; null until both are known"
EITHER_FIRST = "A new route changes the report without a new scan; a scan may come before its route"
ONCE = "The same rows, folded again, change nothing"
PUBLISHED = "A message says what the report says, nulls included"
SENDABLE = "A message is never too large for a producer"

_SCAN_ORDER = 'SCAN_ORDER = ("occurred_at", "current_stop_id", "is_delivered", *RECENCY)'
_SCAN_PARTS = "occurred_at", "current_stop_id", "is_delivered", "kafka_timestamp", "kafka_partition", "kafka_offset"
_ROUTE_ORDER = '"route", RECENCY, '
_DIFFERENCE = 'F.col("route.end_stop_id") - F.col("scan.current_stop_id")'

MUTATIONS = (
    *(
        Mutation(
            LATEST_SCAN, f"{what} does not matter",
            RULES, _SCAN_ORDER, f"SCAN_ORDER = {tuple(part for part in _SCAN_PARTS if part != name)}", TIES,
        )
        for what, name in {
            "the time of the scan": "occurred_at", "the stop": "current_stop_id", "the delivery": "is_delivered",
            "the Kafka timestamp": "kafka_timestamp", "the partition": "kafka_partition", "the offset": "kafka_offset",
        }.items()
    ),
    Mutation(LATEST_SCAN, "the least of a batch is taken", REMAINING, "F.max_by(name,", "F.min_by(name,", TIES),
    Mutation(
        LATEST_SCAN, "the last batch wins", REMAINING, "rank = F.struct(", 'rank = F.struct(F.col(f"{name}.is_new"), ',
        LATE_SCAN,
    ),
    Mutation(
        ONCE, "an equal row counts as newer",
        REMAINING, '~F.col(f"{name}.is_new")', 'F.col(f"{name}.is_new")', AGAIN,
    ),
    Mutation(
        ROUTE_IN_FORCE, "the Kafka timestamp does not matter",
        REMAINING, _ROUTE_ORDER, '"route", ("kafka_partition", "kafka_offset"), ', OLDER_ROUTE,
    ),
    Mutation(
        ROUTE_IN_FORCE, "the partition does not matter",
        REMAINING, _ROUTE_ORDER, '"route", ("kafka_timestamp", "kafka_offset"), ', TIES,
    ),
    Mutation(
        ROUTE_IN_FORCE, "the offset does not matter",
        REMAINING, _ROUTE_ORDER, '"route", ("kafka_timestamp", "kafka_partition"), ', TIES,
    ),
    Mutation(
        WITHDRAWAL, "withdrawals are ignored",
        VERSIONS, 'F.col("reason").isNull()', 'F.col("reason").isNull() & ~F.col("is_withdrawn")', WITHDRAWN,
    ),
    Mutation(
        WITHDRAWAL, "the end of the route before it stays",
        REMAINING, "F.when(F.col(name).isNotNull(), rank)",
        'F.when(F.col(f"{name}.{list(columns)[0]}").isNotNull(), rank)', WITHDRAWN,
    ),
    Mutation(
        REPORT, "the difference is the other way round",
        REMAINING, _DIFFERENCE, 'F.col("scan.current_stop_id") - F.col("route.end_stop_id")', SCAN_FIRST,
    ),
    Mutation(
        REPORT, "0 until both are known",
        REMAINING, _DIFFERENCE, f"F.coalesce({_DIFFERENCE}, F.lit(0))", INCOMPLETE,
    ),
    Mutation(
        REPORT, "a package without a scan is at stop 0",
        REMAINING, _DIFFERENCE, 'F.col("route.end_stop_id") - F.coalesce(F.col("scan.current_stop_id"), F.lit(0))',
        INCOMPLETE,
    ),
    Mutation(
        EITHER_FIRST, "a route counts only in a batch with a scan of its package",
        REMAINING, 'F.col("scan.is_new") | F.col("route.is_new")', 'F.col("scan.is_new")', NEW_ROUTE,
    ),
    Mutation(
        EITHER_FIRST, "a scan counts only in a batch with a route of its package",
        REMAINING, 'F.col("scan.is_new") | F.col("route.is_new")', 'F.col("route.is_new")', INCOMPLETE,
    ),
    Mutation(
        EITHER_FIRST, "a new route forgets the scan before it",
        REMAINING, "new.unionByName(known)", "new", SCAN_FIRST,
    ),
    Mutation(
        PUBLISHED, "members that are null are left out",
        MESSAGES, '{"ignoreNullFields": "false"}', '{"ignoreNullFields": "true"}', ALL_MEMBERS,
    ),
    Mutation(
        PUBLISHED, "times are cut off at the second",
        MESSAGES, "HH:mm:ss.SSSSSS", "HH:mm:ss", WHOLE_MESSAGE,
    ),
    Mutation(
        SENDABLE, "a code of megabytes is told as a whole",
        MESSAGES, "return F.left(column, F.lit(LONGEST_CODE))", "return F.col(column)", SMALL_MESSAGE,
    ),
)  # fmt: skip
