"""Which records are accepted, and which of them are one scan."""

from lab.mutations.mutation import Mutation

RULES = "pipelines/contracts/rules.py"
TOPICS = "pipelines/contracts/topics.py"
GRAMMAR = "pipelines/contracts/grammar.py"
DECODE = "pipelines/transforms/decode.py"
JUDGE = "pipelines/transforms/judge.py"
REJECTED = "pipelines/transforms/rejected.py"
DISTINCT = "pipelines/transforms/distinct_scans.py"
INDEX = "pipelines/engine/key_index.py"
VERSIONS = "pipelines/transforms/route_versions.py"
ASKED_FOR = "tests/engine/test_key_index.py::test_files_with_a_key_that_is_asked_for_are_found_and_no_others"
BRONZE = "pipelines/transforms/bronze_records.py"

EXAMPLES = "tests/transforms/test_judge.py::test_examples_get_their_verdicts"
EVENTS, EVENTS_JSON = f"{EXAMPLES}[ship-events-csv-in UTC]", f"{EXAMPLES}[ship-events-json-in UTC]"
ROUTES = f"{EXAMPLES}[ship-routes-csv-in UTC]"
GOES_ON = "tests/transforms/test_judge.py::test_json_text_may_not_go_on_after_the_object_as_an_array_or_an_object_could"
LONG_NUMBER = "tests/transforms/test_judge.py::test_verdict_on_a_long_number_does_not_depend_on_where_it_is"
KEPT = "tests/transforms/test_rejected.py::test_rejected_record_keeps_its_bytes_its_headers_and_its_coordinates"
NOT_KEPT = "tests/transforms/test_rejected.py::test_accepted_record_is_not_in_quarantine"
SCANS = "tests/transforms/test_distinct_scans.py"
IN_A_BATCH = f"{SCANS}::test_of_a_scan_told_thrice_in_a_batch_the_lowest_offset_stays"
IN_TWO_PARTITIONS = "tests/engine/test_micro_batch.py::test_scan_that_two_partitions_tell_is_kept_once"
EACH_PART = f"{SCANS}::test_every_part_of_the_identity_tells_scans_apart"
POISON = (
    "tests/lab/faults/test_poison.py::test_poison_is_accepted_or_quarantined_by_the_rules_and_nothing_else_suffers[csv]"
)

EMPTY = "`empty`: no value"
NOT_UTF8 = "`not_utf8`"
MALFORMED = "`malformed`: field count, quoting, JSON syntax"
MISSING_FIELD = "`missing_field`: tracking number, time, event code and stop are required; of a route all three"
BAD_TYPE = "`bad_type`: a number or time that does not parse or overflows"
OUT_OF_RANGE = "`out_of_range`: trackingNumber <= 0 or a stop id < 0"
KEY_MISMATCH = "`key_mismatch`: the key is not the trackingNumber in decimal"
WITHDRAWN_KEY = "`key_mismatch` of a withdrawn route: the key is not a positive integer"
TIMESTAMP = "`bad_timestamp`: the Kafka timestamp is not between the first and the last moment of the years 1 to 9999"
FUTURE = "`from_the_future`: occurredAt more than 10 minutes after the Kafka timestamp"
TOO_LATE = "`too_late`: occurredAt more than 7 days before the Kafka timestamp"
ORDER = "The first reason that holds"
QUARANTINE = "A quarantined row keeps its bytes, headers and coordinates; nothing is dropped"
ARCHIVED = "Bronze has every record, whatever the rules say of it"
NO_ROUTE = "A route that was rejected is in quarantine, and is no route"
IDENTITY = "Scans equal in package, time, event code, status code and stop are one scan"
LOWEST_OFFSET = "Of equal scans the one with the lowest offset is kept, whatever the distance"

_EVENT_RANGE = """\
        .when((F.col("tracking_number") <= 0) | (F.col("current_stop_id") < 0), Reason.OUT_OF_RANGE.value)
"""
_KEY = """\
        .when(_key_differs(), Reason.KEY_MISMATCH.value)
"""
_TIMES = "RECORD_TIMES_MS = (-62_135_596_800_000, 253_402_300_799_999)"
_TIME = """\
        .when(_has_no_time(), Reason.BAD_TIMESTAMP.value)
"""
_FUTURE = """\
        .when(occurred_at > appended_at + F.lit(FUTURE_TOLERANCE), Reason.FROM_THE_FUTURE.value)
"""
_MISSING = """\
        .when(reduce(Column.__or__, required), Reason.MISSING_FIELD.value)
"""
_BAD_TYPE = """\
        .when(F.col("mistyped").isNotNull() | reduce(Column.__or__, unparsed), Reason.BAD_TYPE.value)
"""
_ROUTE_RANGE = """\
        .when((F.col("tracking_number") <= 0) | (F.col("end_stop_id") < 0), Reason.OUT_OF_RANGE.value)
"""
_WITH_REASON = "FROM records WHERE reason IS NOT NULL"
_IDENTITY = 'SCAN_IDENTITY = ("tracking_number", "occurred_at", "event_code", "status_code", "current_stop_id")'
_FIRST_PLACE = """\
min((kafka_partition, kafka_offset)) AS first_place FROM records
        WHERE reason IS NULL GROUP BY ALL HAVING count(*) > 1
    )
    SELECT {", ".join(SILVER_SHIP_EVENTS.column_names)} FROM records AS scan WHERE reason IS NULL
    AND NOT EXISTS (
        FROM told_again WHERE {{same_as_told_again}} AND first_place < """

MUTATIONS = (
    Mutation(
        EMPTY, "a null value is malformed",
        DECODE, 'F.coalesce(F.length("value"), F.lit(0)) == 0', 'F.length("value") == 0', EVENTS,
    ),
    Mutation(
        NOT_UTF8, "bytes that are no text are read as text",
        DECODE, "~F.is_valid_utf8(text), Reason", "F.lit(False), Reason", EVENTS,
    ),
    Mutation(
        MALFORMED, "fields beyond the last are ignored",
        DECODE, 'F.coalesce(F.size("fields"), F.lit(-1)) != len(fields)',
        'F.coalesce(F.size("fields"), F.lit(-1)) < len(fields)', EVENTS,
    ),
    Mutation(
        MALFORMED, "what stands around a quoted field is skipped",
        DECODE, 'F.when(F.col("line").rlike(record), quoted_parts)', "quoted_parts", EVENTS,
    ),
    Mutation(
        MALFORMED, "a line break outside quotes is data",
        DECODE, '~has_breaks, F.split', "F.lit(True), F.split", EVENTS,
    ),
    Mutation(
        MALFORMED, "any number of line breaks may follow",
        DECODE, 'F.expr("left(text, length(text) - 1)")', r'F.regexp_replace(text, r"[\r\n]+\z", "")', EVENTS,
    ),
    Mutation(
        MALFORMED, "a JSON text may go on after `}` as an object could",
        DECODE, 'F.concat(F.lit("["), "text", F.lit("]"))', '"text"', GOES_ON,
    ),
    Mutation(
        MALFORMED, "a JSON text may go on after `}` as an array could",
        DECODE, """F.concat(F.lit('{"":'), "text", F.lit("}"))""", '"text"', GOES_ON,
    ),
    Mutation(
        MALFORMED, "a JSON number may be as long as the parser allows",
        DECODE, " & ~has_long_number", "", LONG_NUMBER,
    ),
    Mutation(
        MALFORMED, "digits in a JSON string are a number",
        DECODE, "outside_strings.rlike(TOO_LONG_NUMBER)", 'F.col("text").rlike(TOO_LONG_NUMBER)', LONG_NUMBER,
    ),
    Mutation(MISSING_FIELD, "nobody looks", JUDGE, _MISSING, "", EVENTS),
    Mutation(
        MISSING_FIELD, "an event needs no stop",
        TOPICS, '"current_stop_id", "integer", is_required=True', '"current_stop_id", "integer"', EVENTS,
    ),
    Mutation(
        MISSING_FIELD, "an event needs a status",
        TOPICS, '"status_code", "text"', '"status_code", "text", is_required=True', EVENTS,
    ),
    Mutation(
        BAD_TYPE, "what does not parse is null",
        JUDGE, 'F.col("mistyped").isNotNull() | reduce(Column.__or__, unparsed), ', 'F.col("mistyped").isNotNull(), ',
        EVENTS,
    ),
    Mutation(
        BAD_TYPE, "a JSON number may stand for a text",
        JUDGE, 'F.col("mistyped").isNotNull() | reduce(Column.__or__, unparsed), ',
        "reduce(Column.__or__, unparsed), ", EVENTS_JSON,
    ),
    Mutation(
        BAD_TYPE, "white space around a number is skipped",
        GRAMMAR, 'INTEGER = r"[+-]?[0-9]+"', r'INTEGER = r"\s*[+-]?[0-9]+\s*"', EVENTS,
    ),
    Mutation(
        BAD_TYPE, "a time may have ten fractional digits",
        GRAMMAR, "{1,9}", "{1,10}", EVENTS,
    ),
    Mutation(
        OUT_OF_RANGE, "tracking number 0 of a scan is accepted",
        JUDGE, '(F.col("tracking_number") <= 0) | (F.col("current_stop_id") < 0)',
        '(F.col("tracking_number") < 0) | (F.col("current_stop_id") < 0)', EVENTS,
    ),
    Mutation(
        OUT_OF_RANGE, "stop 0 of a scan is refused",
        JUDGE, '(F.col("current_stop_id") < 0)', '(F.col("current_stop_id") <= 0)', EVENTS,
    ),
    Mutation(
        OUT_OF_RANGE, "tracking number 0 of a route is accepted",
        JUDGE, '(F.col("tracking_number") <= 0) | (F.col("end_stop_id") < 0)',
        '(F.col("tracking_number") < 0) | (F.col("end_stop_id") < 0)', ROUTES,
    ),
    Mutation(
        OUT_OF_RANGE, "stop 0 as the end of a route is refused",
        JUDGE, '(F.col("end_stop_id") < 0)', '(F.col("end_stop_id") <= 0)', ROUTES,
    ),
    Mutation(KEY_MISMATCH, "nobody looks at a scan's key", JUDGE, _EVENT_RANGE + _KEY, _EVENT_RANGE, EVENTS),
    Mutation(KEY_MISMATCH, "nobody looks at a route's key", JUDGE, _ROUTE_RANGE + _KEY, _ROUTE_RANGE, ROUTES),
    Mutation(
        KEY_MISMATCH, "the key is read as a number: 042 is 42",
        JUDGE, '~F.col("key").cast("string").eqNullSafe(F.col("tracking_number").cast("string"))',
        '~F.col("key").cast("string").try_cast("bigint").eqNullSafe(F.col("tracking_number"))', EVENTS,
    ),
    Mutation(
        KEY_MISMATCH, "no key fits every package",
        JUDGE, '~F.col("key").cast("string").eqNullSafe(F.col("tracking_number").cast("string"))',
        'F.col("key").cast("string") != F.col("tracking_number").cast("string")', EVENTS,
    ),
    Mutation(
        WITHDRAWN_KEY, "a key that is no number is accepted",
        JUDGE, 'F.coalesce(F.col("tracking_number") <= 0, F.lit(True))', 'F.col("tracking_number") <= 0', ROUTES,
    ),
    Mutation(
        WITHDRAWN_KEY, "0 is accepted",
        JUDGE, 'F.coalesce(F.col("tracking_number") <= 0,', 'F.coalesce(F.col("tracking_number") < 0,', ROUTES,
    ),
    Mutation(
        WITHDRAWN_KEY, "only plain decimal is accepted",
        JUDGE, "F.when(names_no_package,", "F.when(names_no_package | _key_differs(),", ROUTES,
    ),
    Mutation(TIMESTAMP, "the first moment is accepted", JUDGE, "between(first + 1,", "between(first,", ROUTES),
    Mutation(TIMESTAMP, "the last moment is accepted", RULES, _TIMES, _TIMES.replace("799_999", "800_000"), EVENTS),
    Mutation(
        FUTURE, "exactly 10 minutes are refused",
        JUDGE, "occurred_at > appended_at", "occurred_at >= appended_at", EVENTS,
    ),
    Mutation(
        FUTURE, "11 minutes are accepted",
        RULES, "FUTURE_TOLERANCE = timedelta(minutes=10)", "FUTURE_TOLERANCE = timedelta(minutes=11)", EVENTS,
    ),
    Mutation(
        TOO_LATE, "exactly 7 days are refused",
        JUDGE, "occurred_at < appended_at", "occurred_at <= appended_at", EVENTS,
    ),
    Mutation(
        TOO_LATE, "8 days are accepted",
        RULES, "LATENESS_LIMIT = timedelta(days=7)", "LATENESS_LIMIT = timedelta(days=8)", EVENTS,
    ),
    Mutation(ORDER, "`bad_type` before `missing_field`", JUDGE, _MISSING + _BAD_TYPE, _BAD_TYPE + _MISSING, EVENTS),
    Mutation(
        ORDER, "`out_of_range` before `bad_type`",
        JUDGE, 'F.when(F.col("syntax").isNotNull(), F.col("syntax"))',
        'F.when(F.col("tracking_number") <= 0, "out_of_range").when(F.col("syntax").isNotNull(), F.col("syntax"))',
        EVENTS_JSON,
    ),
    Mutation(
        ORDER, "`key_mismatch` before `out_of_range`, of scans",
        JUDGE, _EVENT_RANGE + _KEY, _KEY + _EVENT_RANGE, EVENTS,
    ),
    Mutation(
        ORDER, "`key_mismatch` before `out_of_range`, of routes",
        JUDGE, _ROUTE_RANGE + _KEY, _KEY + _ROUTE_RANGE, ROUTES,
    ),
    Mutation(
        ORDER, "`from_the_future` before `key_mismatch`",
        JUDGE, _KEY + _TIME + _FUTURE, _FUTURE + _KEY + _TIME, EVENTS,
    ),
    Mutation(
        QUARANTINE, "records without a value are dropped",
        REJECTED, _WITH_REASON, f"{_WITH_REASON} AND value IS NOT NULL", KEPT,
    ),
    Mutation(
        QUARANTINE, "headers are lost",
        REJECTED, _WITH_REASON, _WITH_REASON.replace("records", "(SELECT * REPLACE (NULL AS headers) FROM records)"),
        KEPT,
    ),
    Mutation(
        QUARANTINE, "bytes that are no text are escaped",
        REJECTED, _WITH_REASON,
        _WITH_REASON.replace("records", "(SELECT * REPLACE (encode(value::VARCHAR) AS value) FROM records)"), KEPT,
    ),
    Mutation(
        QUARANTINE, "accepted records are in it, too",
        REJECTED, _WITH_REASON, "FROM records", NOT_KEPT,
    ),
    Mutation(
        ARCHIVED, "a record with a reason is in quarantine alone",
        BRONZE, " FROM records", " FROM records WHERE reason IS NULL", POISON,
    ),
    Mutation(
        NO_ROUTE, "one is whose key is not its package",
        VERSIONS, "WHERE reason IS NULL", "WHERE reason IS NULL OR reason = 'key_mismatch' AND end_stop_id >= 0",
        POISON,
    ),
    *(
        Mutation(
            IDENTITY, f"{column} does not matter",
            RULES, _IDENTITY, _IDENTITY.replace(f'"{column}", ', "").replace(f', "{column}"', ""), EACH_PART,
        )
        for column in ("tracking_number", "occurred_at", "event_code", "status_code", "current_stop_id")
    ),
    Mutation(
        IDENTITY, "the carrier matters, too",
        RULES, '"status_code", "current_stop_id")', '"status_code", "current_stop_id", "carrier_code")',
        f"{SCANS}::test_what_is_not_part_of_the_identity_does_not_tell_scans_apart",
    ),
    Mutation(
        IDENTITY, "a null status equals none",
        DISTINCT, "{other}.{name} IS NOT DISTINCT FROM scan.{name}", "{other}.{name} = scan.{name}",
        f"{SCANS}::test_scans_without_a_status_are_the_same_scan",
    ),
    Mutation(
        LOWEST_OFFSET, "the highest of a batch is kept",
        DISTINCT, _FIRST_PLACE, _FIRST_PLACE.replace("min(", "max(").replace("first_place <", "first_place >"),
        IN_A_BATCH,
    ),
    Mutation(
        LOWEST_OFFSET, "equal scans of one batch are all kept",
        DISTINCT, "HAVING count(*) > 1", "HAVING count(*) > 9", IN_A_BATCH,
    ),
    Mutation(
        LOWEST_OFFSET, "that of another partition may be lower",
        DISTINCT, "first_place < (scan.kafka_partition, scan.kafka_offset)", "first_place[2] < scan.kafka_offset",
        IN_TWO_PARTITIONS,
    ),
    Mutation(
        LOWEST_OFFSET, "scans of earlier batches are not looked at",
        DISTINCT, "    AND NOT EXISTS (FROM known WHERE {{same_as_known}})\n", "",
        f"{SCANS}::test_scan_that_an_earlier_batch_kept_is_not_new",
    ),
    Mutation(
        LOWEST_OFFSET, "a file with one of the scans is not looked at",
        INDEX, "np.searchsorted(there, asked)", 'np.searchsorted(there, asked, "right")', ASKED_FOR,
    ),
    Mutation(
        LOWEST_OFFSET, "what is equal but of another type is not looked for",
        INDEX, "{column.name}::{TYPES[column.type]}", "{column.name}", ASKED_FOR,
    ),
    Mutation(
        LOWEST_OFFSET, "files for which the index has no room are not looked at",
        INDEX, "if file not in self._hashes or", "if file in self._hashes and",
        "tests/engine/test_key_index.py::test_without_room_files_are_opened_and_the_ones_asked_for_last_have_it",
    ),
    Mutation(
        LOWEST_OFFSET, "a rejected record tells a scan first",
        DISTINCT, "WHERE reason IS NULL GROUP BY", "GROUP BY",
        f"{SCANS}::test_rejected_record_with_a_lower_offset_does_not_hide_the_scan_that_it_tells",
    ),
    Mutation(
        LOWEST_OFFSET, "a rejected record is a scan",
        DISTINCT, "AS scan WHERE reason IS NULL", "AS scan WHERE true",
        f"{SCANS}::test_rejected_record_is_neither_new_nor_known",
    ),
)  # fmt: skip
