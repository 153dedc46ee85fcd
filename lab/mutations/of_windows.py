"""Windows, what is counted in them, boards, alerts, and what may be removed."""

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
FOURTH = f"{T_ALERTS}::test_fourth_failure_is_an_alert_of_its_own_and_leaves_the_third_alone"
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
EXPIRED = "Rows are removed strictly before the limit, and only those of their kind"

_NAMES = "for name in STOP)"
_STARTS = "{interval(SLIDE * number)}' for number in range(SLIDING_WINDOW // SLIDE)"
_PAST_START = "({micros} % {micros_long} + {micros_long}) % {micros_long}"
_BY_NAME = 'f"{name} NULLS FIRST"'
_IN_ORDER = """ORDER BY scan_count DESC, {", ".join(f"{name} NULLS FIRST" for name in STOP)}"""
_CHANGED = "alert.occurred_at >= new.occurred_at AND alert.occurred_at < new.occurred_at + {HOUR}"
_NEAR = "failure.occurred_at > new.occurred_at - {HOUR} AND failure.occurred_at < new.occurred_at + {HOUR}"
_UP_TO_AN_HOUR = "RANGE BETWEEN {interval(ALERT_WINDOW - MICROSECOND)} PRECEDING AND CURRENT ROW"
_IS_EXPIRED = 'f"coalesce(({expiry.condition}) AND {expiry.column} < {moment(before)}, false)"'

MUTATIONS = (
    Mutation(
        HALF_OPEN, "a sliding window holds its end, not its start",
        WINDOWS, "last = tumbling_start(time,", 'last = tumbling_start(f"{time} - to_microseconds(1)",', SLIDING,
    ),
    Mutation(
        HALF_OPEN, "an hour holds its end, not its start",
        THROUGHPUT, 'tumbling_start("occurred_at",', 'tumbling_start("occurred_at - to_microseconds(1)",', WHOLE_HOUR,
    ),
    Mutation(
        ALIGNMENT, "they begin a minute later",
        WINDOWS, _PAST_START, _PAST_START.replace("{micros}", "({micros} - {60_000_000})"), SLIDING,
    ),
    Mutation(
        ALIGNMENT, "they are aligned to a Monday",
        WINDOWS, _PAST_START, _PAST_START.replace("{micros}", "({micros} - {4 * 86_400_000_000})"), ALIGNED,
    ),
    Mutation(
        ALIGNMENT, "before the epoch they begin one too late",
        WINDOWS, _PAST_START, "{micros} % {micros_long}", BEFORE_EPOCH,
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
        WINDOWS, _STARTS, _STARTS.replace("* number", "* (number + 1)"), SLIDING,
    ),
    Mutation(
        TEN_EVERY_FIVE, "counted in panes as long as the window",
        ACTIVITY, 'tumbling_start("occurred_at", SLIDE)', 'tumbling_start("occurred_at", SLIDING_WINDOW)',
        WHOLE_WINDOW,
    ),
    Mutation(
        TEN_EVERY_FIVE, "the end is where the next one starts",
        ACTIVITY, "window_start + {interval(SLIDING_WINDOW)}", "window_start + {interval(SLIDE)}", WHOLE_WINDOW,
    ),
    Mutation(
        COUNTS, "failures are counted as deliveries",
        ACTIVITY, "status_code = '{Status.DELIVERED}'", "status_code = '{Status.DELIVERY_FAILED}'", STATUSES,
    ),
    Mutation(
        COUNTS, "every scan that is not delivered has failed",
        ACTIVITY, "status_code = '{Status.DELIVERY_FAILED}'", "status_code != '{Status.DELIVERED}'", STATUSES,
    ),
    Mutation(
        COUNTS, "a scan without a status does not count",
        ACTIVITY, "count(*) AS scan_count", "count(status_code) AS scan_count", STATUSES,
    ),
    Mutation(
        COUNTS, "a scan without a country is none of a stop",
        ACTIVITY, "FROM scans GROUP BY", "FROM scans WHERE country IS NOT NULL GROUP BY", NULLS,
    ),
    *(
        Mutation(
            COUNTS, f"stops that differ in their {column} alone are one",
            ACTIVITY, '", ".join(STOP)', f'", ".join(STOP).replace("{column}", "min({column}) AS {column}")', NULLS,
        )
        for column in ("country", "state", "city", "postal_code")
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
        THROUGHPUT, "count(*)", "count(status_code)", HOUR_STATUSES,
    ),
    Mutation(
        HOURLY, "of all carriers together",
        THROUGHPUT, "carrier_code, status_code,", "min(carrier_code) AS carrier_code, status_code,", HOUR_STATUSES,
    ),
    Mutation(
        HOURLY, "whatever the status",
        THROUGHPUT, "carrier_code, status_code,", "carrier_code, min(status_code) AS status_code,", HOUR_STATUSES,
    ),
    Mutation(LEADERS, "nine places", RULES, "LEADERBOARD_SIZE = 10", "LEADERBOARD_SIZE = 9", TEN_PLACES),
    Mutation(LEADERS, "eleven places", RULES, "LEADERBOARD_SIZE = 10", "LEADERBOARD_SIZE = 11", TEN_PLACES),
    Mutation(LEADERS, "the quietest", BOARD, "scan_count DESC", "scan_count ASC", BUSIEST),
    Mutation(
        LEADERS, "of all windows together",
        BOARD, "PARTITION BY window_start ORDER BY", "ORDER BY", BUSIEST,
    ),
    *(
        Mutation(
            TIES, f"{column} does not matter",
            BOARD, _NAMES, f'for name in STOP if name != "{column}")', EQUALS,
        )
        for column in ("country", "state", "city", "postal_code")
    ),
    Mutation(TIES, "the postal code comes first", BOARD, _NAMES, "for name in reversed(STOP))", EQUALS),
    Mutation(TIES, "nulls last", BOARD, _BY_NAME, _BY_NAME.replace("FIRST", "LAST"), EQUALS),
    Mutation(TIES, "descending", BOARD, _BY_NAME, _BY_NAME.replace("NULLS", "DESC NULLS"), EQUALS),
    Mutation(
        TIES, "capitals are as good as small letters",
        BOARD, _BY_NAME, _BY_NAME.replace("{name}", "lower({name})"), CODE_POINTS,
    ),
    Mutation(TIES, "as they come", BOARD, _IN_ORDER, "ORDER BY scan_count DESC", EQUALS),
    Mutation(
        WHOLE_BOARDS, "all windows",
        BOARD, "FROM activity SEMI JOIN touched USING (window_start)", "FROM activity", TOUCHED,
    ),
    Mutation(
        WHOLE_BOARDS, "only the last window of a scan",
        BOARD, '{sliding_starts("occurred_at")}', '{sliding_starts("occurred_at")}[:1]', TOUCHED,
    ),
    Mutation(AT_LEAST_THREE, "the second", RULES, "ALERT_COUNT = 3", "ALERT_COUNT = 2", SECOND),
    Mutation(AT_LEAST_THREE, "the fourth", RULES, "ALERT_COUNT = 3", "ALERT_COUNT = 4", THIRD),
    Mutation(AT_LEAST_THREE, "the third alone", ALERTS, ">= {ALERT_COUNT}", "= {ALERT_COUNT}", FOURTH),
    Mutation(
        WITHIN, "a failure exactly an hour ago counts",
        ALERTS, _UP_TO_AN_HOUR, _UP_TO_AN_HOUR.replace(" - MICROSECOND", ""), HOUR_AGO,
    ),
    Mutation(
        WITHIN, "a failure a microsecond less ago does not count",
        ALERTS, _UP_TO_AN_HOUR, _UP_TO_AN_HOUR.replace("MICROSECOND", "2 * MICROSECOND"), HOUR_AGO,
    ),
    Mutation(
        WITHIN, "59 minutes",
        RULES, "ALERT_WINDOW = timedelta(hours=1)", "ALERT_WINDOW = timedelta(minutes=59)", HOUR_AGO,
    ),
    Mutation(
        WITHIN, "failures before the new one are not seen",
        ALERTS, _NEAR, _NEAR.replace("> new.occurred_at - {HOUR}", ">= new.occurred_at"), THIRD,
    ),
    Mutation(
        WITHIN, "failures after the new one are not seen",
        ALERTS, _NEAR, _NEAR.replace("< new.occurred_at + {HOUR}", "<= new.occurred_at"), LATE,
    ),
    Mutation(
        WITHIN, "failures of all packages",
        ALERTS, "PARTITION BY tracking_number ORDER BY", "ORDER BY", OTHER_PACKAGE,
    ),
    Mutation(
        WITHIN, "any scan counts",
        ALERTS, "AS failure WHERE {FAILED} AND", "AS failure WHERE", NO_FAILURE,
    ),
    Mutation(
        WITHIN, "the last failure is told as the first",
        ALERTS, "min(occurred_at)", "max(occurred_at)", THIRD,
    ),
    Mutation(
        CORRECTED, "only an alert of its own",
        ALERTS, _CHANGED, "alert.occurred_at = new.occurred_at", LATE,
    ),
    Mutation(
        CORRECTED, "not an alert of its own",
        ALERTS, _CHANGED, _CHANGED.replace(">=", ">"), THIRD,
    ),
    Mutation(
        CORRECTED, "also those before it",
        ALERTS, _CHANGED, _NEAR.replace("failure.", "alert."), LATE,
    ),
    Mutation(
        CORRECTED, "also those that follow one of another package",
        ALERTS, "new.tracking_number = alert.tracking_number", "true", FOURTH,
    ),
    Mutation(
        CORRECTED, "those that follow a scan that is no failure are returned, too",
        ALERTS, "FROM new_scans WHERE {FAILED}", "FROM new_scans", NO_FAILURE,
    ),
    Mutation(
        ONE_ALERT, "as many alerts as failures",
        ALERTS, "SELECT DISTINCT tracking_number, occurred_at, count(*)",
        "SELECT tracking_number, occurred_at, count(*)", ONE_MOMENT,
    ),
    Mutation(
        ONE_ALERT, "failures of one moment are counted one after the other",
        ALERTS, _UP_TO_AN_HOUR, "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", ONE_MOMENT,
    ),
    Mutation(EXPIRED, "at the limit, too", EXPIRY, "< {moment(before)}", "<= {moment(before)}", LIMIT),
    Mutation(EXPIRED, "at the second of the limit", EXPIRY, "%S.%f", "%S", LIMIT),
    Mutation(EXPIRED, "in the zone of the limit", EXPIRY, "time.astimezone(UTC)", "time", LIMIT),
    Mutation(EXPIRED, "of any kind", EXPIRY, "({expiry.condition}) AND ", "", OTHER_KIND),
    Mutation(
        EXPIRED, "null where the kind is unknown",
        EXPIRY, _IS_EXPIRED, 'f"({expiry.condition}) AND {expiry.column} < {moment(before)}"', NO_KIND,
    ),
)  # fmt: skip
