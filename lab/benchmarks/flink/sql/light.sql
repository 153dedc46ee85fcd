-- One statement set: bronze and silver as files, the latest report of each package, sliding windows.

CREATE TABLE ship_routes (
  package STRING,
  route_id BIGINT,
  tracking_number BIGINT,
  end_stop_id BIGINT,
  PRIMARY KEY (package) NOT ENFORCED
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'ship-routes',
  'properties.bootstrap.servers' = '$servers',
  'scan.bounded.mode' = 'latest-offset',
  'key.format' = 'raw',
  'value.format' = 'csv',
  'value.csv.ignore-parse-errors' = 'true',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE TABLE bronze (
  line BYTES, kafka_partition INT, kafka_offset BIGINT, kafka_timestamp TIMESTAMP_LTZ(3)
) WITH ('connector' = 'filesystem', 'path' = 'file://$folder/bronze', 'format' = 'parquet');

CREATE TABLE silver (
  tracking_number BIGINT, occurred_at TIMESTAMP(3), event_code STRING, status_code STRING, status_description STRING,
  carrier_code STRING, country STRING, state STRING, city STRING, postal_code STRING, current_stop_id BIGINT,
  kafka_partition INT, kafka_offset BIGINT, kafka_timestamp TIMESTAMP_LTZ(3)
) WITH ('connector' = 'filesystem', 'path' = 'file://$folder/silver', 'format' = 'parquet');

CREATE TABLE latest_report (
  tracking_number BIGINT, occurred_at TIMESTAMP(3), number_of_remaining_stops BIGINT, current_stop_id BIGINT,
  end_stop_id BIGINT, status_code STRING, city STRING, kafka_partition INT, kafka_offset BIGINT,
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

CREATE TEMPORARY VIEW stops AS
SELECT occurred_at, scan.country AS country, scan.state AS state, scan.city AS city, scan.postal_code AS postal_code,
       scan.status_code AS status_code
FROM scans WHERE scan IS NOT NULL;

EXECUTE STATEMENT SET BEGIN
INSERT INTO bronze SELECT line, kafka_partition, kafka_offset, kafka_timestamp FROM ship_events;
INSERT INTO silver
SELECT scan.tracking_number, occurred_at, scan.event_code, scan.status_code, scan.status_description, scan.carrier_code,
       scan.country, scan.state, scan.city, scan.postal_code, scan.current_stop_id,
       kafka_partition, kafka_offset, kafka_timestamp
FROM scans WHERE scan IS NOT NULL;
INSERT INTO latest_report
SELECT s.tracking_number, s.occurred_at, r.end_stop_id - s.current_stop_id, s.current_stop_id, r.end_stop_id,
       s.status_code, s.city, s.kafka_partition, s.kafka_offset
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY tracking_number ORDER BY occurred_at DESC) AS newest
  FROM (
    SELECT scan.tracking_number AS tracking_number, scan.current_stop_id AS current_stop_id,
           scan.status_code AS status_code, scan.city AS city, occurred_at, kafka_partition, kafka_offset
    FROM scans WHERE scan IS NOT NULL
  )
) AS s
JOIN ship_routes AS r ON s.tracking_number = r.tracking_number
WHERE s.newest = 1;
INSERT INTO stop_activity
SELECT window_start, window_end, country, state, city, postal_code, COUNT(*),
       COUNT(*) FILTER (WHERE status_code = 'DL'), COUNT(*) FILTER (WHERE status_code = 'DF')
FROM HOP(TABLE stops, DESCRIPTOR(occurred_at), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)
GROUP BY window_start, window_end, country, state, city, postal_code;
END;
