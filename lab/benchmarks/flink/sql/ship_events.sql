-- The lines of the topic, each taken apart once: `scan` is null where a line does not parse. A line whose time is not near
-- its record's is left out.

CREATE TEMPORARY SYSTEM FUNCTION occurred_at AS 'superfastpts.benchmarks.OccurredAt';

CREATE TEMPORARY SYSTEM FUNCTION scan_fields AS 'superfastpts.benchmarks.ScanFields';

CREATE TABLE ship_events (
  line BYTES,
  kafka_partition INT METADATA FROM 'partition' VIRTUAL,
  kafka_offset BIGINT METADATA FROM 'offset' VIRTUAL,
  kafka_timestamp TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  occurred_at AS occurred_at(line, kafka_timestamp),
  WATERMARK FOR occurred_at AS occurred_at - INTERVAL '10' MINUTES
) WITH (
  'connector' = 'kafka',
  'topic' = 'ship-events',
  'properties.bootstrap.servers' = '$servers',
  'scan.startup.mode' = 'earliest-offset',
  'scan.bounded.mode' = '$bound',
  'format' = 'raw'
);

CREATE TEMPORARY VIEW scans AS
SELECT scan_fields(line) AS scan, occurred_at, kafka_partition, kafka_offset, kafka_timestamp
FROM ship_events
WHERE occurred_at > TIMESTAMP '1970-01-01 00:00:00';
