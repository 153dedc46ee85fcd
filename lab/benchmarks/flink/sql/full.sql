-- All that SQL can say of the design: both topics in bronze, duplicates dropped at any distance, what breaks the contract kept
-- with its reason, the report of every package in either topic, windows with their ten busiest stops, throughput, alerts.

CREATE TEMPORARY SYSTEM FUNCTION occurred_at AS 'superfastpts.benchmarks.OccurredAt';

CREATE TEMPORARY SYSTEM FUNCTION judged_scan AS 'superfastpts.benchmarks.JudgedScan';

CREATE TEMPORARY SYSTEM FUNCTION judged_route AS 'superfastpts.benchmarks.JudgedRoute';

CREATE TABLE ship_events (
  record_key BYTES,
  record_value BYTES,
  headers MAP<STRING, BYTES> METADATA VIRTUAL,
  kafka_partition INT METADATA FROM 'partition' VIRTUAL,
  kafka_offset BIGINT METADATA FROM 'offset' VIRTUAL,
  kafka_timestamp TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  arrived_at AS PROCTIME(),
  occurred_at AS occurred_at(record_value, kafka_timestamp),
  WATERMARK FOR occurred_at AS occurred_at - INTERVAL '10' MINUTES
) WITH (
  'connector' = 'kafka',
  'topic' = 'ship-events',
  'properties.bootstrap.servers' = '$servers',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = '$bound',
  'key.format' = 'raw',
  'key.fields' = 'record_key',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TABLE ship_routes (
  record_key BYTES,
  record_value BYTES,
  headers MAP<STRING, BYTES> METADATA VIRTUAL,
  kafka_partition INT METADATA FROM 'partition' VIRTUAL,
  kafka_offset BIGINT METADATA FROM 'offset' VIRTUAL,
  kafka_timestamp TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL
) WITH (
  'connector' = 'kafka',
  'topic' = 'ship-routes',
  'properties.bootstrap.servers' = '$servers',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = '$bound',
  'key.format' = 'raw',
  'key.fields' = 'record_key',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TABLE bronze_ship_events (
  key BYTES, `value` BYTES, headers MAP<STRING, BYTES>, kafka_partition INT, kafka_offset BIGINT,
  kafka_timestamp TIMESTAMP_LTZ(3)
) WITH ('connector' = 'filesystem', 'path' = 'file://$folder/bronze_ship_events', 'format' = 'parquet');

CREATE TABLE bronze_ship_routes WITH ('path' = 'file://$folder/bronze_ship_routes') LIKE bronze_ship_events (
  OVERWRITING OPTIONS
);

CREATE TABLE silver_ship_events (
  tracking_number BIGINT, occurred_at TIMESTAMP(3), event_code STRING, status_code STRING, status_description STRING,
  carrier_code STRING, country STRING, state STRING, city STRING, postal_code STRING, current_stop_id BIGINT,
  kafka_partition INT, kafka_offset BIGINT, kafka_timestamp TIMESTAMP_LTZ(3)
) WITH ('connector' = 'filesystem', 'path' = 'file://$folder/silver_ship_events', 'format' = 'parquet');

CREATE TABLE silver_ship_routes (
  tracking_number BIGINT, route_id BIGINT, end_stop_id BIGINT, is_withdrawn BOOLEAN,
  kafka_partition INT, kafka_offset BIGINT, kafka_timestamp TIMESTAMP_LTZ(3)
) WITH ('connector' = 'filesystem', 'path' = 'file://$folder/silver_ship_routes', 'format' = 'parquet');

CREATE TABLE silver_quarantine (
  reason STRING, kafka_topic STRING, key BYTES, `value` BYTES, headers MAP<STRING, BYTES>,
  kafka_partition INT, kafka_offset BIGINT, kafka_timestamp TIMESTAMP_LTZ(3)
) WITH ('connector' = 'filesystem', 'path' = 'file://$folder/silver_quarantine', 'format' = 'parquet');

CREATE TABLE latest_report (
  tracking_number BIGINT, occurred_at TIMESTAMP(3), number_of_remaining_stops BIGINT, current_stop_id BIGINT,
  end_stop_id BIGINT, route_id BIGINT, event_code STRING, status_code STRING, status_description STRING,
  carrier_code STRING, country STRING, state STRING, city STRING, postal_code STRING,
  event_kafka_partition INT, event_kafka_offset BIGINT, event_kafka_timestamp TIMESTAMP_LTZ(3),
  route_kafka_partition INT, route_kafka_offset BIGINT, route_kafka_timestamp TIMESTAMP_LTZ(3),
  PRIMARY KEY (tracking_number) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = '$reports',
  'properties.bootstrap.servers' = '$servers',
  'properties.linger.ms' = '20',
  'properties.compression.type' = 'lz4',
  'properties.transaction.timeout.ms' = '600000',
  'key.format' = 'raw',
  'value.format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = '$reports'
);

CREATE TABLE stop_activity (
  window_start TIMESTAMP(3), window_end TIMESTAMP(3), country STRING, state STRING, city STRING, postal_code STRING,
  scan_count BIGINT, delivered_count BIGINT, failed_count BIGINT
) WITH ('connector' = 'filesystem', 'path' = 'file://$folder/stop_activity', 'format' = 'parquet');

CREATE TABLE busiest_stops (
  window_start TIMESTAMP(3), window_end TIMESTAMP(3), `rank` BIGINT, country STRING, state STRING, city STRING,
  postal_code STRING, scan_count BIGINT
) WITH ('connector' = 'filesystem', 'path' = 'file://$folder/busiest_stops', 'format' = 'parquet');

CREATE TABLE carrier_throughput (
  window_start TIMESTAMP(3), window_end TIMESTAMP(3), carrier_code STRING, status_code STRING, scan_count BIGINT
) WITH ('connector' = 'filesystem', 'path' = 'file://$folder/carrier_throughput', 'format' = 'parquet');

CREATE TABLE failed_delivery_alerts (
  tracking_number BIGINT, occurred_at TIMESTAMP(3), failure_count BIGINT, first_failed_at TIMESTAMP(3)
) WITH ('connector' = 'filesystem', 'path' = 'file://$folder/failed_delivery_alerts', 'format' = 'parquet');

CREATE TEMPORARY VIEW judged_events AS
SELECT judged_scan(record_key, record_value, kafka_timestamp) AS scan, record_key, record_value, headers, occurred_at,
       arrived_at, kafka_partition, kafka_offset, kafka_timestamp
FROM ship_events;

CREATE TEMPORARY VIEW judged_routes AS
SELECT judged_route(record_key, record_value) AS route, record_key, record_value, headers,
       kafka_partition, kafka_offset, kafka_timestamp
FROM ship_routes;

CREATE TEMPORARY VIEW scans AS
SELECT *
FROM (
  SELECT *, ROW_NUMBER() OVER (
    PARTITION BY tracking_number, occurred_at, event_code, status_code, current_stop_id ORDER BY arrived_at
  ) AS copy
  FROM (
    SELECT scan.tracking_number AS tracking_number, occurred_at, scan.event_code AS event_code,
           scan.status_code AS status_code, scan.status_description AS status_description,
           scan.carrier_code AS carrier_code, scan.country AS country, scan.state AS state, scan.city AS city,
           scan.postal_code AS postal_code, scan.current_stop_id AS current_stop_id,
           kafka_partition, kafka_offset, kafka_timestamp, arrived_at
    FROM judged_events WHERE scan.reason IS NULL
  )
)
WHERE copy = 1;

CREATE TEMPORARY VIEW latest_scans AS
SELECT *
FROM (
  SELECT *, ROW_NUMBER() OVER (
    PARTITION BY tracking_number
    ORDER BY occurred_at DESC, kafka_timestamp DESC, kafka_partition DESC, kafka_offset DESC
  ) AS newest
  FROM scans
)
WHERE newest = 1;

CREATE TEMPORARY VIEW routes_in_force AS
SELECT *
FROM (
  SELECT route.tracking_number AS tracking_number, route.route_id AS route_id, route.end_stop_id AS end_stop_id,
         kafka_partition, kafka_offset, kafka_timestamp,
         ROW_NUMBER() OVER (
           PARTITION BY route.tracking_number
           ORDER BY kafka_timestamp DESC, kafka_partition DESC, kafka_offset DESC
         ) AS newest
  FROM judged_routes WHERE route.reason IS NULL
)
WHERE newest = 1;

CREATE TEMPORARY VIEW activity AS
SELECT window_start, window_end, country, state, city, postal_code, COUNT(*) AS scan_count,
       COUNT(*) FILTER (WHERE status_code = 'DL') AS delivered_count,
       COUNT(*) FILTER (WHERE status_code = 'DF') AS failed_count
FROM HOP(TABLE scans, DESCRIPTOR(occurred_at), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)
GROUP BY window_start, window_end, country, state, city, postal_code;

EXECUTE STATEMENT SET BEGIN
INSERT INTO bronze_ship_events
SELECT record_key, record_value, headers, kafka_partition, kafka_offset, kafka_timestamp FROM ship_events;
INSERT INTO bronze_ship_routes
SELECT record_key, record_value, headers, kafka_partition, kafka_offset, kafka_timestamp FROM ship_routes;
INSERT INTO silver_quarantine
SELECT scan.reason, 'ship-events', record_key, record_value, headers, kafka_partition, kafka_offset, kafka_timestamp
FROM judged_events WHERE scan.reason IS NOT NULL
UNION ALL
SELECT route.reason, 'ship-routes', record_key, record_value, headers, kafka_partition, kafka_offset, kafka_timestamp
FROM judged_routes WHERE route.reason IS NOT NULL;
INSERT INTO silver_ship_events
SELECT tracking_number, occurred_at, event_code, status_code, status_description, carrier_code, country, state, city,
       postal_code, current_stop_id, kafka_partition, kafka_offset, kafka_timestamp
FROM scans;
INSERT INTO silver_ship_routes
SELECT route.tracking_number, route.route_id, route.end_stop_id, route.is_withdrawn,
       kafka_partition, kafka_offset, kafka_timestamp
FROM judged_routes WHERE route.reason IS NULL;
INSERT INTO latest_report
SELECT COALESCE(s.tracking_number, r.tracking_number), s.occurred_at, r.end_stop_id - s.current_stop_id,
       s.current_stop_id, r.end_stop_id, r.route_id, s.event_code, s.status_code, s.status_description, s.carrier_code,
       s.country, s.state, s.city, s.postal_code, s.kafka_partition, s.kafka_offset, s.kafka_timestamp,
       r.kafka_partition, r.kafka_offset, r.kafka_timestamp
FROM latest_scans AS s FULL OUTER JOIN routes_in_force AS r ON s.tracking_number = r.tracking_number;
INSERT INTO stop_activity SELECT * FROM activity;
INSERT INTO busiest_stops
SELECT window_start, window_end, place, country, state, city, postal_code, scan_count
FROM (
  SELECT *, ROW_NUMBER() OVER (
    PARTITION BY window_start, window_end ORDER BY scan_count DESC, country, state, city, postal_code
  ) AS place
  FROM activity
)
WHERE place <= 10;
INSERT INTO carrier_throughput
SELECT window_start, window_end, carrier_code, status_code, COUNT(*)
FROM TUMBLE(TABLE scans, DESCRIPTOR(occurred_at), INTERVAL '1' HOUR)
GROUP BY window_start, window_end, carrier_code, status_code;
INSERT INTO failed_delivery_alerts
SELECT tracking_number, occurred_at, failure_count, first_failed_at
FROM (
  SELECT tracking_number, occurred_at, COUNT(*) OVER an_hour AS failure_count,
         MIN(CAST(occurred_at AS TIMESTAMP(3))) OVER an_hour AS first_failed_at
  FROM scans WHERE status_code = 'DF'
  WINDOW an_hour AS (
    PARTITION BY tracking_number ORDER BY occurred_at
    RANGE BETWEEN INTERVAL '59:59.999' MINUTE TO SECOND(3) PRECEDING AND CURRENT ROW
  )
)
WHERE failure_count >= 3;
END;
