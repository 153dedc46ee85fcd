"""Do the tables over windows count every scan of silver, but for what they have removed?"""

from datetime import timedelta

from pipelines.checks.verify_checks.check import Check, Stage, coordinates, rebuild_remedy
from pipelines.contracts.rules import (
    ALERT_COUNT,
    ALERT_WINDOW,
    LEADERBOARD_SIZE,
    SLIDE,
    SLIDING_WINDOW,
    STOP,
    TUMBLING_WINDOW,
    Status,
)
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.tables import (
    GOLD_BUSIEST_STOPS,
    GOLD_CARRIER_THROUGHPUT,
    GOLD_FAILED_DELIVERY_ALERTS,
    GOLD_STOP_ACTIVITY,
)


def _micros(length: timedelta) -> int:
    return length // timedelta(microseconds=1)


PLACE = ", ".join(STOP)
TOLD_OF_STOPS = [name for name in STOP if name not in {"city", "postal_code"}]
SAME_STOP = " AND ".join(f"counted.{name} IS NOT DISTINCT FROM shown.{name}" for name in STOP)
FIRST_SCAN = "min(kafka_offset) AS kafka_offset, arg_min(kafka_partition, kafka_offset) AS kafka_partition"
EXAMPLE = f"{coordinates(repr(SHIP_EVENTS.name))} AS example"

BOARD_ENTRY = "{" + ", ".join(f"'{name}': {name}" for name in (*STOP, "scan_count")) + "}"

PREPARE = (
    # Start of the window that contains a moment, aligned to the Unix epoch, also before it.
    """
    CREATE TEMP MACRO start_of(moment, length) AS
    make_timestamptz(epoch_us(moment) - (epoch_us(moment) % length + length) % length)
    """,
    # A stop, and a place on a board, as a person reads them, and a log may have them: without city and postal code.
    f"""
    CREATE TEMP MACRO stop_of(place) AS
    coalesce(nullif(concat_ws(' ', {", ".join(f"place.{name}" for name in TOLD_OF_STOPS)}), ''), 'no place')
    """,
    "CREATE TEMP MACRO entry_of(place) AS stop_of(place) || ' with ' || place.scan_count || ' scans'",
    # The moment before which a table has removed rows.
    """
    CREATE TEMP MACRO expiry_limit(name) AS (
        SELECT coalesce(max(expired_before), TIMESTAMPTZ '-infinity') FROM table_state
        WHERE batch_id = getvariable('batch_id') AND table_name = name
    )
    """,
    # The board of every window as gold.stop_activity has it: its busiest stops, the first first.
    f"""
    CREATE TEMP TABLE board AS
    SELECT window_start, any_value(window_end) AS window_end,
        list({BOARD_ENTRY} ORDER BY rank) AS stops
    FROM (
        FROM gold.stop_activity SELECT *, row_number() OVER (
            PARTITION BY window_start ORDER BY scan_count DESC, {", ".join(f"{name} NULLS FIRST" for name in STOP)}
        ) AS rank QUALIFY rank <= {LEADERBOARD_SIZE}
    ) GROUP BY window_start
    """,
    # The same as gold.busiest_stops has it.
    f"""
    CREATE TEMP TABLE shown_board AS
    SELECT window_start, any_value(window_end) AS window_end, list(rank ORDER BY rank) AS ranks,
        list({BOARD_ENTRY} ORDER BY rank) AS stops
    FROM gold.busiest_stops GROUP BY window_start
    """,
    """
    CREATE TEMP TABLE boards AS
    SELECT window_start, board.stops AS expected, shown_board.stops AS found, ranks
    FROM board FULL JOIN shown_board USING (window_start)
    WHERE coalesce(board.window_end, shown_board.window_end)
        >= greatest(expiry_limit('gold.stop_activity'), expiry_limit('gold.busiest_stops'))
    """,
)

CHECKS = (
    Check(
        name="stop_activity_counts_every_scan",
        meaning="Per window and stop, gold.stop_activity counts the scans of silver.ship_events in [window_start, "
        "window_end), all of them, those delivered and those failed; no stop is missing and none is extra.",
        sql=f"""
            WITH pane AS (
                SELECT start_of(occurred_at, {_micros(SLIDE)}) AS pane_start, {PLACE}, count(*) AS scan_count,
                    count(*) FILTER (status_code = '{Status.DELIVERED.value}') AS delivered_count,
                    count(*) FILTER (status_code = '{Status.DELIVERY_FAILED.value}') AS failed_count, {FIRST_SCAN}
                FROM silver.ship_events GROUP BY ALL
            ),
            counted AS (
                SELECT pane_start - to_microseconds({_micros(SLIDE)} * number) AS window_start, {PLACE},
                    [sum(scan_count), sum(delivered_count), sum(failed_count)] AS counts, {FIRST_SCAN}
                FROM pane, range({SLIDING_WINDOW // SLIDE}) AS windows(number) GROUP BY ALL
            ),
            shown AS (
                SELECT window_start, {PLACE}, [sum(scan_count), sum(delivered_count), sum(failed_count)] AS counts
                FROM gold.stop_activity GROUP BY ALL
            )
            SELECT coalesce(counted.window_start, shown.window_start) AS window_start,
                if(counted.counts IS NULL, stop_of(shown), stop_of(counted)) AS stop,
                coalesce(counted.counts, [0, 0, 0]) AS expected, coalesce(shown.counts, [0, 0, 0]) AS found, {EXAMPLE}
            FROM counted FULL JOIN shown ON counted.window_start = shown.window_start AND {SAME_STOP}
            WHERE counted.counts IS DISTINCT FROM shown.counts
                AND coalesce(counted.window_start, shown.window_start) + to_microseconds({_micros(SLIDING_WINDOW)})
                    >= expiry_limit('gold.stop_activity')
            ORDER BY ALL
        """,
        violation="of the stop {stop}, silver.ship_events has {expected} scans (all, delivered, failed) in the window "
        "from {window_start} (example: {example}), but gold.stop_activity counts {found}",
        remedy=rebuild_remedy(GOLD_STOP_ACTIVITY),
    ),
    Check(
        name="busiest_stops_fill_the_board",
        meaning=f"For each window of gold.stop_activity and no other, gold.busiest_stops has the ranks from 1 to "
        f"{LEADERBOARD_SIZE}, or to the number of stops if that is lower, each once.",
        sql="""
            SELECT window_start, len(coalesce(expected, [])) AS expected, ranks AS found FROM boards
            WHERE coalesce(ranks, []) <> range(1, len(coalesce(boards.expected, [])) + 1) ORDER BY window_start
        """,
        violation="the window from {window_start} should have {expected} busiest stops by gold.stop_activity, but "
        "gold.busiest_stops has the ranks {found}",
        remedy=rebuild_remedy(GOLD_BUSIEST_STOPS),
    ),
    Check(
        name="busiest_stops_are_the_busiest",
        meaning="By rank, gold.busiest_stops has the stops with the most scans of the window in gold.stop_activity, "
        "and their number.",
        sql=f"""
            SELECT window_start, rank, entry_of(expected[rank]) AS expected, entry_of(found[rank]) AS found
            FROM boards, range(1, {LEADERBOARD_SIZE + 1}) AS places(rank)
            WHERE boards.expected[rank] IS DISTINCT FROM boards.found[rank] ORDER BY window_start, rank
        """,
        violation="place {rank} of the window from {window_start} is {expected} by gold.stop_activity, but {found} in "
        "gold.busiest_stops",
        remedy=rebuild_remedy(GOLD_BUSIEST_STOPS),
    ),
    Check(
        name="carrier_throughput_counts_every_scan",
        meaning="Per hour, carrier and status, the scans in gold.carrier_throughput are those of silver.ship_events; "
        "no hour is missing and none is extra.",
        sql=f"""
            WITH counted AS (
                SELECT start_of(occurred_at, {_micros(TUMBLING_WINDOW)}) AS window_start, carrier_code, status_code,
                    count(*) AS scan_count, {FIRST_SCAN}
                FROM silver.ship_events GROUP BY ALL
            ),
            shown AS (
                SELECT window_start, carrier_code, status_code, sum(scan_count)::BIGINT AS scan_count
                FROM gold.carrier_throughput GROUP BY ALL
            )
            SELECT coalesce(counted.window_start, shown.window_start) AS window_start,
                coalesce(counted.carrier_code, shown.carrier_code) AS carrier_code,
                coalesce(counted.status_code, shown.status_code) AS status_code,
                coalesce(counted.scan_count, 0) AS expected, coalesce(shown.scan_count, 0) AS found, {EXAMPLE}
            FROM counted FULL JOIN shown ON counted.window_start = shown.window_start
                AND counted.carrier_code IS NOT DISTINCT FROM shown.carrier_code
                AND counted.status_code IS NOT DISTINCT FROM shown.status_code
            WHERE expected <> found AND coalesce(counted.window_start, shown.window_start)
                + to_microseconds({_micros(TUMBLING_WINDOW)}) >= expiry_limit('gold.carrier_throughput')
            ORDER BY ALL
        """,
        violation="silver.ship_events has {expected} scans of carrier {carrier_code} with status {status_code} in the "
        "hour from {window_start} (example: {example}), but gold.carrier_throughput counts {found}",
        remedy=rebuild_remedy(GOLD_CARRIER_THROUGHPUT),
    ),
    Check(
        name="failed_delivery_alerts_are_all_there",
        meaning=f"gold.failed_delivery_alerts has each moment at which a package has {ALERT_COUNT} or more failed "
        "deliveries in the hour up to it, with their number and the first of them, and no other.",
        sql=f"""
            WITH failure AS (
                SELECT tracking_number, occurred_at, count(*) AS failure_count, {FIRST_SCAN} FROM silver.ship_events
                WHERE status_code = '{Status.DELIVERY_FAILED.value}' GROUP BY tracking_number, occurred_at
            ),
            counted AS (
                SELECT tracking_number, occurred_at, kafka_partition, kafka_offset,
                    sum(failure_count) OVER hour::BIGINT AS failure_count, min(occurred_at) OVER hour AS first_failed_at
                FROM failure WINDOW hour AS (
                    PARTITION BY tracking_number ORDER BY epoch_us(occurred_at)
                    RANGE BETWEEN {_micros(ALERT_WINDOW) - 1} PRECEDING AND CURRENT ROW
                )
            ),
            alert AS (
                SELECT tracking_number, occurred_at, sum(failure_count)::BIGINT AS failure_count,
                    min(first_failed_at) AS first_failed_at
                FROM gold.failed_delivery_alerts GROUP BY tracking_number, occurred_at
            )
            SELECT tracking_number, occurred_at, coalesce(counted.failure_count, 0) AS expected,
                alert.failure_count AS found, counted.first_failed_at AS expected_first,
                alert.first_failed_at AS found_first, {EXAMPLE}
            FROM counted FULL JOIN alert USING (tracking_number, occurred_at)
            WHERE (expected >= {ALERT_COUNT} OR found IS NOT NULL)
                AND (expected, expected_first) IS DISTINCT FROM (found, found_first)
                AND occurred_at >= expiry_limit('gold.failed_delivery_alerts')
            ORDER BY occurred_at, tracking_number
        """,
        violation="package {tracking_number} has {expected} failed deliveries from {expected_first} to {occurred_at} "
        "(example: {example}), but the alert in gold.failed_delivery_alerts counts {found} from {found_first}",
        remedy=rebuild_remedy(GOLD_FAILED_DELIVERY_ALERTS),
    ),
)

WINDOWS = Stage(PREPARE, CHECKS)
