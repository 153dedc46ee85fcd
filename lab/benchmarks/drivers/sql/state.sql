-- What is known of the log so far: every distinct scan, every version of a route.

CREATE TABLE scans (
    tracking_number BIGINT, occurred_at TIMESTAMPTZ, event_code VARCHAR, status_code VARCHAR, status_description VARCHAR,
    carrier_code VARCHAR, country VARCHAR, state VARCHAR, city VARCHAR, postal_code VARCHAR, current_stop_id BIGINT,
    kafka_topic VARCHAR, kafka_partition INTEGER, kafka_offset BIGINT, kafka_timestamp TIMESTAMPTZ
);

CREATE TABLE routes (
    route_id BIGINT, tracking_number BIGINT, end_stop_id BIGINT, is_withdrawn BOOLEAN,
    kafka_topic VARCHAR, kafka_partition INTEGER, kafka_offset BIGINT, kafka_timestamp TIMESTAMPTZ
);
