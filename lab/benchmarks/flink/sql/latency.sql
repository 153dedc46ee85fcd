-- Every scan joined with its package's route, as a message: one per scan, committed with each checkpoint.

CREATE TABLE ship_routes (
  route_id BIGINT, tracking_number BIGINT, end_stop_id BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'ship-routes',
  'properties.bootstrap.servers' = '$servers',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'csv',
  'csv.ignore-parse-errors' = 'true'
);

CREATE TABLE reports (
  `trackingNumber` BIGINT, `occurredAt` TIMESTAMP(3), `numberOfRemainingStops` BIGINT, `currentStopId` BIGINT,
  `endStopId` BIGINT, `statusCode` STRING, `eventKafkaPartition` INT, `eventKafkaOffset` BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = '$reports',
  'properties.bootstrap.servers' = '$servers',
  'properties.linger.ms' = '5',
  'properties.compression.type' = 'lz4',
  'properties.transaction.timeout.ms' = '600000',
  'format' = 'json',
  'sink.delivery-guarantee' = 'exactly-once',
  'sink.transactional-id-prefix' = '$reports'
);

INSERT INTO reports
SELECT s.scan.tracking_number, s.occurred_at, r.end_stop_id - s.scan.current_stop_id, s.scan.current_stop_id,
       r.end_stop_id, s.scan.status_code, s.kafka_partition, s.kafka_offset
FROM scans AS s
JOIN ship_routes AS r ON s.scan.tracking_number = r.tracking_number;
