-- All tables of the design, but for ops.batches and the details of silver.quarantine, computed once from a dump of the log.

-- The fields of a value: by commas, and where there is a quote, by RFC 4180.
CREATE MACRO fields(text) AS
    CASE WHEN text NOT LIKE '%"%' THEN string_split(text, ',')
         WHEN regexp_full_match(text, '([^",]*|"([^"]|"")*")(,([^",]*|"([^"]|"")*"))*', 's')
         THEN list_transform(regexp_extract_all(text, '(?:^|,)("(?:[^"]|"")*"|[^",]*)', 1, 's'),
                             lambda cell: CASE WHEN cell LIKE '"%' THEN replace(cell[2:-2], '""', '"') ELSE cell END)
    END;

CREATE MACRO whole_number(text) AS CASE WHEN regexp_full_match(text, '[+-]?[0-9]+') THEN TRY_CAST(text AS BIGINT) END;

CREATE MACRO moment(text) AS
    CASE WHEN regexp_full_match(
        text, '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})?'
    ) THEN TRY_CAST(text AS TIMESTAMPTZ) END;

CREATE TABLE records AS
    SELECT * EXCLUDE (kafka_timestamp), kafka_timestamp::TIMESTAMPTZ AS kafka_timestamp FROM '$dump';

COPY (SELECT * FROM records WHERE kafka_topic = 'ship-events') TO '$folder/bronze_ship_events.parquet';
COPY (SELECT * FROM records WHERE kafka_topic = 'ship-routes') TO '$folder/bronze_ship_routes.parquet';

CREATE TABLE judged_events AS
WITH split AS (
    SELECT * EXCLUDE (value), value, fields(regexp_replace(try(decode(value)), '\r?\n$$', '')) AS f
    FROM records WHERE kafka_topic = 'ship-events'
), typed AS (
    SELECT
        whole_number(f[1]) AS tracking_number,
        moment(f[2]) AS occurred_at,
        nullif(f[3], '') AS event_code, nullif(f[4], '') AS status_code, nullif(f[5], '') AS status_description,
        nullif(f[6], '') AS carrier_code, nullif(f[7], '') AS country, nullif(f[8], '') AS state,
        nullif(f[9], '') AS city, nullif(f[10], '') AS postal_code,
        whole_number(f[11]) AS current_stop_id,
        key, value, kafka_partition, kafka_offset, kafka_timestamp, len(f) AS field_count
    FROM split
)
SELECT *, coalesce(
    field_count = 11 AND event_code IS NOT NULL AND tracking_number > 0 AND current_stop_id >= 0
    AND try(decode(key)) = tracking_number::VARCHAR
    AND occurred_at <= kafka_timestamp + INTERVAL 10 MINUTE
    AND occurred_at >= kafka_timestamp - INTERVAL 7 DAY, false) AS is_accepted
FROM typed;

CREATE TABLE scans AS
SELECT DISTINCT ON (tracking_number, occurred_at, event_code, status_code, current_stop_id)
    * EXCLUDE (key, value, field_count, is_accepted)
FROM judged_events WHERE is_accepted
ORDER BY kafka_offset;

COPY (SELECT *, 'ship-events' AS kafka_topic FROM scans) TO '$folder/silver_ship_events.parquet';

CREATE TABLE routes AS
WITH split AS (
    SELECT *, try(decode(key)) AS key_text, string_split(regexp_replace(try(decode(value)), '\r?\n$$', ''), ',') AS f
    FROM records WHERE kafka_topic = 'ship-routes'
)
SELECT
    whole_number(f[1]) AS route_id, whole_number(key_text) AS tracking_number,
    whole_number(f[3]) AS end_stop_id, value IS NULL AS is_withdrawn,
    kafka_partition, kafka_offset, kafka_timestamp,
    coalesce(tracking_number > 0 AND (is_withdrawn OR (len(f) = 3 AND f[2] = key_text AND route_id IS NOT NULL
             AND end_stop_id >= 0)), false) AS is_accepted
FROM split;

COPY (SELECT * EXCLUDE (is_accepted), 'ship-routes' AS kafka_topic FROM routes WHERE is_accepted) TO '$folder/silver_ship_routes.parquet';

COPY (
    SELECT 'ship-events' AS kafka_topic, kafka_partition, kafka_offset, kafka_timestamp, key, value
    FROM judged_events WHERE NOT is_accepted
    UNION ALL
    SELECT kafka_topic, kafka_partition, kafka_offset, kafka_timestamp, key, value
    FROM records SEMI JOIN (FROM routes WHERE NOT is_accepted) USING (kafka_partition, kafka_offset)
    WHERE kafka_topic = 'ship-routes'
) TO '$folder/silver_quarantine.parquet';

COPY (
    WITH latest AS (
        SELECT unnest(arg_max(scans, (occurred_at, kafka_timestamp, kafka_partition, kafka_offset)))
        FROM scans GROUP BY tracking_number
    ), in_force AS (
        SELECT tracking_number, arg_max(routes, (kafka_timestamp, kafka_partition, kafka_offset)) AS route
        FROM routes WHERE is_accepted GROUP BY tracking_number
    )
    SELECT coalesce(s.tracking_number, r.tracking_number) AS tracking_number,
           s.* EXCLUDE (tracking_number, kafka_partition, kafka_offset, kafka_timestamp),
           r.route.route_id, r.route.end_stop_id, r.route.end_stop_id - s.current_stop_id AS number_of_remaining_stops,
           s.kafka_partition AS event_kafka_partition, s.kafka_offset AS event_kafka_offset,
           s.kafka_timestamp AS event_kafka_timestamp, r.route.kafka_partition AS route_kafka_partition,
           r.route.kafka_offset AS route_kafka_offset, r.route.kafka_timestamp AS route_kafka_timestamp
    FROM latest s FULL JOIN in_force r ON s.tracking_number = r.tracking_number
) TO '$folder/gold_remaining_stops.parquet';

CREATE TABLE panes AS
SELECT time_bucket(INTERVAL 5 MINUTE, occurred_at) AS pane_start, country, state, city, postal_code,
       count(*) AS scan_count, count(*) FILTER (status_code = 'DL') AS delivered_count,
       count(*) FILTER (status_code = 'DF') AS failed_count
FROM scans GROUP BY ALL;

CREATE TABLE activity AS
SELECT window_start, window_start + INTERVAL 10 MINUTE AS window_end, country, state, city, postal_code,
       sum(scan_count)::BIGINT AS scan_count, sum(delivered_count)::BIGINT AS delivered_count,
       sum(failed_count)::BIGINT AS failed_count
FROM (SELECT *, unnest([pane_start, pane_start - INTERVAL 5 MINUTE]) AS window_start FROM panes)
GROUP BY ALL;

COPY activity TO '$folder/gold_stop_activity.parquet';

COPY (
    SELECT window_start, window_end, row_number() OVER (
        PARTITION BY window_start
        ORDER BY scan_count DESC, country NULLS FIRST, state NULLS FIRST, city NULLS FIRST, postal_code NULLS FIRST
    ) AS rank, country, state, city, postal_code, scan_count
    FROM activity QUALIFY rank <= 10
) TO '$folder/gold_busiest_stops.parquet';

COPY (
    SELECT time_bucket(INTERVAL 1 HOUR, occurred_at) AS window_start, window_start + INTERVAL 1 HOUR AS window_end,
           carrier_code, status_code, count(*) AS scan_count
    FROM scans GROUP BY ALL
) TO '$folder/gold_carrier_throughput.parquet';

COPY (
    SELECT DISTINCT tracking_number, occurred_at, count(*) OVER an_hour AS failure_count,
           min(occurred_at) OVER an_hour AS first_failed_at
    FROM scans WHERE status_code = 'DF'
    WINDOW an_hour AS (PARTITION BY tracking_number ORDER BY occurred_at
                       RANGE BETWEEN INTERVAL '3599999999 microseconds' PRECEDING AND CURRENT ROW)
    QUALIFY failure_count >= 3
) TO '$folder/gold_failed_delivery_alerts.parquet';
