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
ANY_CUT = f"{REPORTS}::test_any_cut_of_a_random_log_gives_the_oracles_table"
NEW_ROUTE = f"{REPORTS}::test_new_route_changes_the_report_without_a_new_scan"
T_MESSAGES = "tests/transforms/test_package_reports.py"
WHOLE_MESSAGE = f"{T_MESSAGES}::test_message_tells_the_report_and_the_coordinates_of_scan_and_route"
ALL_MEMBERS = f"{T_MESSAGES}::test_message_has_every_member_also_where_there_is_nothing_to_say"
ANY_READER = f"{T_MESSAGES}::test_times_are_read_as_utc_by_any_reader"
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
_SCAN_IS_GREATER = "{_rank(SCAN_ORDER, SCAN_COLUMNS, 'scan')} > {_rank(SCAN_ORDER, SCAN_COLUMNS, 'known')}"
_ROUTE_IS_GREATER = "{_rank(RECENCY, ROUTE_COLUMNS, 'route')} > {_rank(RECENCY, ROUTE_COLUMNS, 'known')}"
_DELIVERED = "coalesce({of}.status_code = '{Status.DELIVERED}', false)"
_NEW_SCAN = "CASE WHEN scan_is_new THEN scan.{source} ELSE known.{target} END"
_NEW_ROUTE = "CASE WHEN route_is_new THEN route.{source} ELSE known.{target} END"
_DIFFERENCE = "end_stop_id - current_stop_id AS {name}"
_OBJECT = """json_object({", ".join(f"'{name}', {_member(column)}" for name, column in MEMBERS.items())})"""

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
    Mutation(
        LATEST_SCAN, "a scan without a status is no less than a delivery",
        REMAINING, _DELIVERED, _DELIVERED.replace("false", "true"), TIES,
    ),
    Mutation(
        LATEST_SCAN, "the least of a batch is taken",
        REMAINING, "arg_max(new_scans, ", "arg_min(new_scans, ", TIES,
    ),
    Mutation(LATEST_SCAN, "the last batch wins", REMAINING, _SCAN_IS_GREATER, "true", LATE_SCAN),
    Mutation(
        ONCE, "an equal scan counts as newer",
        REMAINING, _SCAN_IS_GREATER, _SCAN_IS_GREATER.replace(" > ", " >= "), AGAIN,
    ),
    Mutation(
        ONCE, "an equal route counts as newer",
        REMAINING, _ROUTE_IS_GREATER, _ROUTE_IS_GREATER.replace(" > ", " >= "), AGAIN,
    ),
    Mutation(
        ONCE, "a package is a row though nothing about it is newer",
        REMAINING, "FROM told WHERE scan_is_new OR route_is_new", "FROM told", AGAIN,
    ),
    *(
        Mutation(
            ROUTE_IN_FORCE, f"{what} does not matter",
            REMAINING, "for name in order)", f"for name in order if order != RECENCY or name != '{name}')", test,
        )
        for what, name, test in (
            ("the Kafka timestamp", "kafka_timestamp", OLDER_ROUTE),
            ("the partition", "kafka_partition", TIES), ("the offset", "kafka_offset", TIES),
        )
    ),
    Mutation(
        ROUTE_IN_FORCE, "the least of a batch is taken",
        REMAINING, "arg_max(new_routes, ", "arg_min(new_routes, ", TIES,
    ),
    Mutation(ROUTE_IN_FORCE, "the last batch wins", REMAINING, _ROUTE_IS_GREATER, "true", OLDER_ROUTE),
    Mutation(
        WITHDRAWAL, "withdrawals are ignored",
        VERSIONS, "WHERE reason IS NULL", "WHERE reason IS NULL AND NOT is_withdrawn", WITHDRAWN,
    ),
    Mutation(
        WITHDRAWAL, "the end of the route before it stays",
        REMAINING, _NEW_ROUTE, _NEW_ROUTE.replace("THEN", "AND route.{source} IS NOT NULL THEN"), WITHDRAWN,
    ),
    Mutation(
        WITHDRAWAL, "a route from before it is in force when it is told later",
        REMAINING, "known.route_kafka_offset IS NULL", "known.end_stop_id IS NULL", ANY_CUT,
    ),
    Mutation(
        REPORT, "the difference is the other way round",
        REMAINING, _DIFFERENCE, "current_stop_id - end_stop_id AS {name}", SCAN_FIRST,
    ),
    Mutation(
        REPORT, "0 until both are known",
        REMAINING, _DIFFERENCE, "coalesce(end_stop_id - current_stop_id, 0) AS {name}", INCOMPLETE,
    ),
    Mutation(
        REPORT, "a package without a scan is at stop 0",
        REMAINING, _DIFFERENCE, "end_stop_id - coalesce(current_stop_id, 0) AS {name}", INCOMPLETE,
    ),
    Mutation(
        EITHER_FIRST, "a route counts only in a batch with a scan of its package",
        REMAINING, "WHERE scan_is_new OR route_is_new", "WHERE scan_is_new", NEW_ROUTE,
    ),
    Mutation(
        EITHER_FIRST, "a scan counts only in a batch with a route of its package",
        REMAINING, "WHERE scan_is_new OR route_is_new", "WHERE route_is_new", INCOMPLETE,
    ),
    Mutation(
        EITHER_FIRST, "a new route forgets the scan before it",
        REMAINING, _NEW_SCAN, "scan.{source}", SCAN_FIRST,
    ),
    Mutation(
        EITHER_FIRST, "a new scan forgets the route before it",
        REMAINING, _NEW_ROUTE, "route.{source}", ANY_CUT,
    ),
    Mutation(
        PUBLISHED, "members that are null are left out",
        MESSAGES, _OBJECT, f"json_merge_patch('{{{{}}}}', {_OBJECT})", ALL_MEMBERS,
    ),
    Mutation(PUBLISHED, "times are cut off at the second", MESSAGES, "%H:%M:%S.%fZ", "%H:%M:%SZ", WHOLE_MESSAGE),
    Mutation(PUBLISHED, "times name no zone", MESSAGES, "%H:%M:%S.%fZ", "%H:%M:%S.%f", ANY_READER),
    Mutation(
        SENDABLE, "a code of megabytes is told as a whole",
        MESSAGES, 'return f"left(status_code, {LONGEST_CODE})"', 'return "status_code"', SMALL_MESSAGE,
    ),
)  # fmt: skip
