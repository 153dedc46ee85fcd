-- The tables of gold, computed from all that `scans` and `routes` hold.

CREATE TABLE gold_remaining_stops AS
WITH latest AS (
    SELECT unnest(arg_max(scans, (occurred_at, kafka_timestamp, kafka_partition, kafka_offset)))
    FROM scans GROUP BY tracking_number
), in_force AS (
    SELECT tracking_number, arg_max(routes, (kafka_timestamp, kafka_partition, kafka_offset)) AS route
    FROM routes GROUP BY tracking_number
)
SELECT coalesce(s.tracking_number, r.tracking_number) AS tracking_number,
       s.* EXCLUDE (tracking_number, kafka_topic, kafka_partition, kafka_offset, kafka_timestamp),
       r.route.route_id, r.route.end_stop_id, r.route.end_stop_id - s.current_stop_id AS number_of_remaining_stops,
       s.kafka_partition AS event_kafka_partition, s.kafka_offset AS event_kafka_offset,
       s.kafka_timestamp AS event_kafka_timestamp, r.route.kafka_partition AS route_kafka_partition,
       r.route.kafka_offset AS route_kafka_offset, r.route.kafka_timestamp AS route_kafka_timestamp
FROM latest s FULL JOIN in_force r ON s.tracking_number = r.tracking_number;

CREATE TABLE gold_stop_activity AS
WITH panes AS (
    SELECT time_bucket(INTERVAL 5 MINUTE, occurred_at) AS pane_start, country, state, city, postal_code,
           count(*) AS scan_count, count(*) FILTER (status_code = 'DL') AS delivered_count,
           count(*) FILTER (status_code = 'DF') AS failed_count
    FROM scans GROUP BY ALL
)
SELECT window_start, window_start + INTERVAL 10 MINUTE AS window_end, country, state, city, postal_code,
       sum(scan_count)::BIGINT AS scan_count, sum(delivered_count)::BIGINT AS delivered_count,
       sum(failed_count)::BIGINT AS failed_count
FROM (SELECT *, unnest([pane_start, pane_start - INTERVAL 5 MINUTE]) AS window_start FROM panes)
GROUP BY ALL;

CREATE TABLE gold_busiest_stops AS
SELECT window_start, window_end, row_number() OVER (
    PARTITION BY window_start
    ORDER BY scan_count DESC, country NULLS FIRST, state NULLS FIRST, city NULLS FIRST, postal_code NULLS FIRST
) AS rank, country, state, city, postal_code, scan_count
FROM gold_stop_activity QUALIFY rank <= 10;

CREATE TABLE gold_carrier_throughput AS
SELECT time_bucket(INTERVAL 1 HOUR, occurred_at) AS window_start, window_start + INTERVAL 1 HOUR AS window_end,
       carrier_code, status_code, count(*) AS scan_count
FROM scans GROUP BY ALL;

CREATE TABLE gold_failed_delivery_alerts AS
SELECT DISTINCT tracking_number, occurred_at, count(*) OVER an_hour AS failure_count,
       min(occurred_at) OVER an_hour AS first_failed_at
FROM scans WHERE status_code = 'DF'
WINDOW an_hour AS (PARTITION BY tracking_number ORDER BY occurred_at
                   RANGE BETWEEN INTERVAL '3599999999 microseconds' PRECEDING AND CURRENT ROW)
QUALIFY failure_count >= 3;
