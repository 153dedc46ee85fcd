-- What the table `records`, a part of the log, adds: `new_scans`, `new_routes` and `rejected`. `scans` and `routes` have all so far.

-- The fields of a value: by commas, and where there is a quote, by RFC 4180.
CREATE OR REPLACE MACRO fields(text) AS
    CASE WHEN text NOT LIKE '%"%' THEN string_split(text, ',')
         WHEN regexp_full_match(text, '([^",]*|"([^"]|"")*")(,([^",]*|"([^"]|"")*"))*', 's')
         THEN list_transform(regexp_extract_all(text, '(?:^|,)("(?:[^"]|"")*"|[^",]*)', 1, 's'),
                             lambda cell: CASE WHEN cell LIKE '"%' THEN replace(cell[2:-2], '""', '"') ELSE cell END)
    END;

CREATE OR REPLACE MACRO whole_number(text) AS
    CASE WHEN regexp_full_match(text, '[+-]?[0-9]+') THEN TRY_CAST(text AS BIGINT) END;

CREATE OR REPLACE MACRO moment(text) AS
    CASE WHEN regexp_full_match(
        text, '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})?'
    ) THEN TRY_CAST(text AS TIMESTAMPTZ) END;

CREATE OR REPLACE TABLE judged_events AS
WITH split AS (
    SELECT * EXCLUDE (value), value, fields(regexp_replace(try(decode(value)), '\r?\n$', '')) AS f
    FROM records WHERE kafka_topic = 'ship-events'
), typed AS (
    SELECT
        whole_number(f[1]) AS tracking_number,
        moment(f[2]) AS occurred_at,
        nullif(f[3], '') AS event_code, nullif(f[4], '') AS status_code, nullif(f[5], '') AS status_description,
        nullif(f[6], '') AS carrier_code, nullif(f[7], '') AS country, nullif(f[8], '') AS state,
        nullif(f[9], '') AS city, nullif(f[10], '') AS postal_code,
        whole_number(f[11]) AS current_stop_id,
        key, value, kafka_topic, kafka_partition, kafka_offset, kafka_timestamp, len(f) AS field_count
    FROM split
)
SELECT *, coalesce(
    field_count = 11 AND event_code IS NOT NULL AND tracking_number > 0 AND current_stop_id >= 0
    AND try(decode(key)) = tracking_number::VARCHAR
    AND occurred_at <= kafka_timestamp + INTERVAL 10 MINUTE
    AND occurred_at >= kafka_timestamp - INTERVAL 7 DAY, false) AS is_accepted
FROM typed;

CREATE OR REPLACE TABLE judged_routes AS
WITH split AS (
    SELECT *, try(decode(key)) AS key_text, string_split(regexp_replace(try(decode(value)), '\r?\n$', ''), ',') AS f
    FROM records WHERE kafka_topic = 'ship-routes'
)
SELECT
    whole_number(f[1]) AS route_id, whole_number(key_text) AS tracking_number,
    whole_number(f[3]) AS end_stop_id, value IS NULL AS is_withdrawn, key, value,
    kafka_topic, kafka_partition, kafka_offset, kafka_timestamp,
    coalesce(tracking_number > 0 AND (is_withdrawn OR (len(f) = 3 AND f[2] = key_text AND route_id IS NOT NULL
             AND end_stop_id >= 0)), false) AS is_accepted
FROM split;

CREATE OR REPLACE TABLE new_scans AS
SELECT DISTINCT ON (tracking_number, occurred_at, event_code, status_code, current_stop_id)
    * EXCLUDE (key, value, field_count, is_accepted)
FROM judged_events AS judged
WHERE is_accepted AND NOT EXISTS (
    FROM scans AS known
    WHERE known.tracking_number = judged.tracking_number AND known.occurred_at = judged.occurred_at
      AND known.event_code = judged.event_code AND known.current_stop_id = judged.current_stop_id
      AND known.status_code IS NOT DISTINCT FROM judged.status_code
)
ORDER BY kafka_offset;

CREATE OR REPLACE TABLE new_routes AS
SELECT * EXCLUDE (key, value, is_accepted) FROM judged_routes WHERE is_accepted;

CREATE OR REPLACE TABLE rejected AS
SELECT key, value, kafka_topic, kafka_partition, kafka_offset, kafka_timestamp
FROM judged_events WHERE NOT is_accepted
UNION ALL
SELECT key, value, kafka_topic, kafka_partition, kafka_offset, kafka_timestamp
FROM judged_routes WHERE NOT is_accepted;

INSERT INTO scans SELECT * FROM new_scans;

INSERT INTO routes SELECT * FROM new_routes;
