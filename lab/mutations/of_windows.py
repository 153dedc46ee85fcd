"""Windows, what is counted in them, boards, alerts, and what may be let go."""

from lab.mutations.mutation import Mutation

RULES = "pipelines/contracts/rules.py"
WINDOWS = "pipelines/transforms/windows.py"
ACTIVITY = "pipelines/transforms/stop_activity.py"
BOARD = "pipelines/transforms/busiest_stops.py"
THROUGHPUT = "pipelines/transforms/carrier_throughput.py"
ALERTS = "pipelines/transforms/failed_delivery_alerts.py"
EXPIRY = "pipelines/transforms/expiry.py"

T_WINDOWS = "tests/transforms/test_windows.py"
T_ACTIVITY = "tests/transforms/test_stop_activity.py"
T_BOARD = "tests/transforms/test_busiest_stops.py"
T_THROUGHPUT = "tests/transforms/test_carrier_throughput.py"
T_ALERTS = "tests/transforms/test_failed_delivery_alerts.py"
T_EXPIRY = "tests/transforms/test_expiry.py"
WHOLE_WINDOW = f"{T_ACTIVITY}::test_window_counts_from_its_first_microsecond_to_its_last"
STATUSES = f"{T_ACTIVITY}::test_deliveries_are_dl_and_failures_are_df_and_no_other_status_is_either"
NULLS = f"{T_ACTIVITY}::test_null_in_the_columns_of_a_stop_is_a_value"
SLIDING = f"{T_WINDOWS}::test_sliding_window_holds_its_start_and_not_its_end"
TWO = f"{T_WINDOWS}::test_moment_is_in_two_sliding_windows"
ALIGNED = f"{T_WINDOWS}::test_windows_are_aligned_to_the_epoch_and_not_to_a_calendar"
BEFORE_EPOCH = f"{T_WINDOWS}::test_windows_before_the_epoch_hold_their_start_and_not_their_end"
WHOLE_HOUR = f"{T_THROUGHPUT}::test_hour_counts_from_its_first_microsecond_to_its_last"
HOURS_END = f"{T_THROUGHPUT}::test_window_ends_an_hour_after_its_start"
HOUR_STATUSES = f"{T_THROUGHPUT}::test_statuses_are_counted_apart_and_none_is_one_of_them"
TEN_PLACES = f"{T_BOARD}::test_board_has_ten_places_and_equals_do_not_share_one"
BUSIEST = f"{T_BOARD}::test_stop_with_more_scans_comes_before_one_with_fewer"
EQUALS = f"{T_BOARD}::test_equals_are_ordered_by_country_state_city_and_postal_code_nulls_first"
CODE_POINTS = f"{T_BOARD}::test_names_are_ordered_by_code_point"
TOUCHED = f"{T_BOARD}::test_window_without_a_new_scan_has_no_rows"
THIRD = f"{T_ALERTS}::test_third_failure_within_an_hour_is_an_alert"
SECOND = f"{T_ALERTS}::test_second_failure_is_none"
HOUR_AGO = f"{T_ALERTS}::test_failure_exactly_an_hour_ago_counts_no_more"
ONE_MOMENT = f"{T_ALERTS}::test_failures_at_one_moment_make_one_alert_that_counts_them_all"
LATE = f"{T_ALERTS}::test_late_failure_corrects_the_alerts_that_follow_it_within_the_hour"
OTHER_PACKAGE = f"{T_ALERTS}::test_failures_of_another_package_do_not_matter"
NO_FAILURE = f"{T_ALERTS}::test_scan_that_is_no_failure_changes_nothing_and_counts_for_nothing"
LIMIT = f"{T_EXPIRY}::test_row_is_expired_strictly_before_the_limit"
OTHER_KIND = f"{T_EXPIRY}::test_row_of_another_kind_is_not_expired"
NO_KIND = f"{T_EXPIRY}::test_row_whose_kind_is_unknown_is_not_expired"

HALF_OPEN = "Windows are half-open `[start, end)`"
ALIGNMENT = "Windows are aligned to the Unix epoch"
TEN_EVERY_FIVE = "Stop activity: a sliding window of 10 minutes every 5"
COUNTS = "Stop activity: scans, deliveries (DL) and failed deliveries (DF) of each stop"
HOURLY = "Carrier throughput: a tumbling hour, by carrier and status"
LEADERS = "Busiest stops: the 10 busiest of each window, by scan_count descending"
TIES = "Busiest stops: equals by country, state, city, postal_code ascending, nulls first"
WHOLE_BOARDS = "Busiest stops: the whole board of each window that new scans touch, and no other"
AT_LEAST_THREE = "An alert is a failure that is at least the third"
WITHIN = "An alert counts the failures of its package in `(occurred_at - 1 h, occurred_at]`"
CORRECTED = "A late failure corrects the alerts that follow it"
ONE_ALERT = "One alert per package and moment"
EXPIRED = "Rows are let go strictly before the limit, and only those of their kind"

_NAMES = "for name in STOP)"
_STARTS = "last - F.lit(SLIDE * number) for number in range(SLIDING_WINDOW // SLIDE)"
_CHANGED = "(since_new >= F.lit(0 * ALERT_WINDOW)) & (since_new < hour)"
_NEAR = "(since_new > -hour) & (since_new < hour)"

MUTATIONS = (
    Mutation(
        HALF_OPEN, "a sliding window holds its end, not its start",
        WINDOWS, "last = tumbling_start(time,", "last = tumbling_start(time - F.lit(MICROSECOND),", SLIDING,
    ),
    Mutation(
        HALF_OPEN, "an hour holds its end, not its start",
        THROUGHPUT, 'tumbling_start(F.col("occurred_at"),',
        'tumbling_start(F.timestamp_micros(F.unix_micros("occurred_at") - 1),', WHOLE_HOUR,
    ),
    Mutation(
        ALIGNMENT, "they begin a minute later",
        WINDOWS, "F.pmod(micros, F.lit(length // MICROSECOND))",
        "F.pmod(micros - 60_000_000, F.lit(length // MICROSECOND))", SLIDING,
    ),
    Mutation(
        ALIGNMENT, "they are aligned to a Monday",
        WINDOWS, "F.pmod(micros, F.lit(length // MICROSECOND))",
        "F.pmod(micros - 4 * 86_400_000_000, F.lit(length // MICROSECOND))", ALIGNED,
    ),
    Mutation(
        ALIGNMENT, "before the epoch they begin one too late",
        WINDOWS, "F.pmod(micros, F.lit(length // MICROSECOND))", "(micros % F.lit(length // MICROSECOND))",
        BEFORE_EPOCH,
    ),
    Mutation(
        TEN_EVERY_FIVE, "15 minutes long",
        RULES, "SLIDING_WINDOW = timedelta(minutes=10)", "SLIDING_WINDOW = timedelta(minutes=15)", WHOLE_WINDOW,
    ),
    Mutation(
        TEN_EVERY_FIVE, "one every 10 minutes",
        RULES, "SLIDE = timedelta(minutes=5)", "SLIDE = timedelta(minutes=10)", WHOLE_WINDOW,
    ),
    Mutation(
        TEN_EVERY_FIVE, "only the last of them",
        WINDOWS, _STARTS, _STARTS.replace("SLIDING_WINDOW // SLIDE", "1"), TWO,
    ),
    Mutation(
        TEN_EVERY_FIVE, "one pane too early",
        WINDOWS, _STARTS, _STARTS.replace("number)", "(number + 1))", 1), SLIDING,
    ),
    Mutation(
        TEN_EVERY_FIVE, "counted in panes as long as the window",
        ACTIVITY, 'tumbling_start(F.col("occurred_at"), SLIDE)', 'tumbling_start(F.col("occurred_at"), SLIDING_WINDOW)',
        WHOLE_WINDOW,
    ),
    Mutation(
        TEN_EVERY_FIVE, "the end is where the next one starts",
        ACTIVITY, 'F.col("window_start") + F.lit(SLIDING_WINDOW)', 'F.col("window_start") + F.lit(SLIDE)', WHOLE_WINDOW,
    ),
    Mutation(
        COUNTS, "deliveries and failures are swapped",
        ACTIVITY, 'Status.DELIVERED.value).alias("delivered_count")',
        'Status.DELIVERY_FAILED.value).alias("delivered_count")', STATUSES,
    ),
    Mutation(
        COUNTS, "every scan that is not delivered has failed",
        ACTIVITY, 'F.col("status_code") == Status.DELIVERY_FAILED.value',
        'F.col("status_code") != Status.DELIVERED.value', STATUSES,
    ),
    Mutation(
        COUNTS, "a scan without a status does not count",
        ACTIVITY, 'F.count("*").alias("scan_count")', 'F.count("status_code").alias("scan_count")', STATUSES,
    ),
    Mutation(
        COUNTS, "a scan without a country is none of a stop",
        ACTIVITY, "panes = scans.groupBy(", 'panes = scans.where("country IS NOT NULL").groupBy(', NULLS,
    ),
    Mutation(
        HOURLY, "half an hour",
        RULES, "TUMBLING_WINDOW = timedelta(hours=1)", "TUMBLING_WINDOW = timedelta(minutes=30)", HOURS_END,
    ),
    Mutation(
        HOURLY, "two hours",
        RULES, "TUMBLING_WINDOW = timedelta(hours=1)", "TUMBLING_WINDOW = timedelta(hours=2)", WHOLE_HOUR,
    ),
    Mutation(
        HOURLY, "a scan without a status does not count",
        THROUGHPUT, 'F.count("*")', 'F.count("status_code")', HOUR_STATUSES,
    ),
    Mutation(LEADERS, "nine places", RULES, "LEADERBOARD_SIZE = 10", "LEADERBOARD_SIZE = 9", TEN_PLACES),
    Mutation(LEADERS, "eleven places", RULES, "LEADERBOARD_SIZE = 10", "LEADERBOARD_SIZE = 11", TEN_PLACES),
    Mutation(LEADERS, "the quietest", BOARD, 'F.col("scan_count").desc()', 'F.col("scan_count").asc()', BUSIEST),
    *(
        Mutation(
            TIES, f"{column} does not matter",
            BOARD, _NAMES, f'for name in STOP if name != "{column}")', EQUALS,
        )
        for column in ("country", "state", "city", "postal_code")
    ),
    Mutation(TIES, "the postal code comes first", BOARD, _NAMES, "for name in reversed(STOP))", EQUALS),
    Mutation(TIES, "nulls last", BOARD, "asc_nulls_first()", "asc_nulls_last()", EQUALS),
    Mutation(TIES, "descending", BOARD, "asc_nulls_first()", "desc_nulls_first()", EQUALS),
    Mutation(TIES, "capitals are as good as small letters", BOARD, "F.col(name).asc", "F.lower(name).asc", CODE_POINTS),
    Mutation(
        TIES, "as they come",
        BOARD, 'orderBy(F.col("scan_count").desc(), *names)', 'orderBy(F.col("scan_count").desc())', EQUALS,
    ),
    Mutation(
        WHOLE_BOARDS, "all windows",
        BOARD, 'activity.join(F.broadcast(touched), "window_start", "left_semi")', "activity", TOUCHED,
    ),
    Mutation(
        WHOLE_BOARDS, "only the last window of a scan",
        BOARD, 'sliding_starts(F.col("occurred_at"))', 'F.slice(sliding_starts(F.col("occurred_at")), 1, 1)', TOUCHED,
    ),
    Mutation(AT_LEAST_THREE, "the second", RULES, "ALERT_COUNT = 3", "ALERT_COUNT = 2", SECOND),
    Mutation(AT_LEAST_THREE, "the fourth", RULES, "ALERT_COUNT = 3", "ALERT_COUNT = 4", THIRD),
    Mutation(
        WITHIN, "a failure exactly an hour ago counts",
        ALERTS, "-(ALERT_WINDOW // MICROSECOND) + 1,", "-(ALERT_WINDOW // MICROSECOND),", HOUR_AGO,
    ),
    Mutation(
        WITHIN, "a failure a microsecond less ago does not count",
        ALERTS, "-(ALERT_WINDOW // MICROSECOND) + 1,", "-(ALERT_WINDOW // MICROSECOND) + 2,", HOUR_AGO,
    ),
    Mutation(
        WITHIN, "59 minutes",
        RULES, "ALERT_WINDOW = timedelta(hours=1)", "ALERT_WINDOW = timedelta(minutes=59)", HOUR_AGO,
    ),
    Mutation(
        WITHIN, "failures before the new one are not seen",
        ALERTS, _NEAR, "(since_new >= F.lit(0 * ALERT_WINDOW)) & (since_new < hour)", THIRD,
    ),
    Mutation(
        WITHIN, "failures after the new one are not seen",
        ALERTS, _NEAR, "(since_new > -hour) & (since_new <= F.lit(0 * ALERT_WINDOW))", LATE,
    ),
    Mutation(
        WITHIN, "failures of all packages",
        ALERTS, 'Window.partitionBy("tracking_number")', "Window.partitionBy()", LATE,
    ),
    Mutation(
        WITHIN, "failures near one of another package are looked at, too",
        ALERTS, "same_package & is_close", "is_close", OTHER_PACKAGE,
    ),
    Mutation(
        WITHIN, "any scan counts",
        ALERTS, "scans.where(failed).select(", "scans.select(", NO_FAILURE,
    ),
    Mutation(
        WITHIN, "the last failure is told as the first",
        ALERTS, 'F.min("occurred_at")', 'F.max("occurred_at")', THIRD,
    ),
    Mutation(
        CORRECTED, "only an alert of its own",
        ALERTS, _CHANGED, "since_new == F.lit(0 * ALERT_WINDOW)", LATE,
    ),
    Mutation(
        CORRECTED, "not an alert of its own",
        ALERTS, _CHANGED, "(since_new > F.lit(0 * ALERT_WINDOW)) & (since_new < hour)", THIRD,
    ),
    Mutation(
        CORRECTED, "also those before it",
        ALERTS, _CHANGED, _NEAR, LATE,
    ),
    Mutation(
        ONE_ALERT, "as many alerts as failures",
        ALERTS, "        .distinct()  # failures at one moment make one alert\n", "", ONE_MOMENT,
    ),
    Mutation(
        ONE_ALERT, "failures of one moment are counted one after the other",
        ALERTS, ".rangeBetween(-(ALERT_WINDOW // MICROSECOND) + 1, Window.currentRow)",
        ".rowsBetween(Window.unboundedPreceding, Window.currentRow)", ONE_MOMENT,
    ),
    Mutation(EXPIRED, "at the limit, too", EXPIRY, "< F.lit(before)", "<= F.lit(before)", LIMIT),
    Mutation(EXPIRED, "of any kind", EXPIRY, "F.expr(expiry.condition) & ", "", OTHER_KIND),
    Mutation(
        EXPIRED, "null where the kind is unknown",
        EXPIRY, "F.coalesce(F.expr(expiry.condition) & (F.col(expiry.column) < F.lit(before)), F.lit(False))",
        "F.expr(expiry.condition) & (F.col(expiry.column) < F.lit(before))", NO_KIND,
    ),
)  # fmt: skip
