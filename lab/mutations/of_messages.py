"""What `pts judge` says of messages: the same rules without Spark. Its faults are noticed without Spark, too."""

from lab.mutations.mutation import Mutation

DECODE = "pipelines/contracts/decode.py"
JUDGE = "pipelines/contracts/judge.py"
COMMAND = "pipelines/checks/judge.py"

EXAMPLES = "tests/contracts/test_judge.py::test_examples_get_their_verdicts"
EVENTS, EVENTS_JSON = f"{EXAMPLES}[ship-events-csv]", f"{EXAMPLES}[ship-events-json]"
ROUTES = f"{EXAMPLES}[ship-routes-csv]"
RANDOM = "tests/contracts/test_judge.py::test_it_says_of_every_input_what_the_oracle_says[in UTC]"
WITH_OFFSET = "tests/contracts/test_judge.py::test_it_says_of_every_input_what_the_oracle_says[with an offset]"
LEVELS = "tests/contracts/test_judge.py::test_json_may_be_as_deep_as_the_limit_and_no_deeper"
YEARS = "tests/contracts/test_judge.py::test_first_and_last_years_are_years_of_the_calendar"
LEFT_OUT = "tests/contracts/test_judge.py::test_without_a_timestamp_or_a_key_their_rules_are_left_out"
SHOWN = "tests/checks/test_judge.py::test_what_a_message_says_is_shown_as_printable_text_and_cut_off"
GIVEN = "tests/checks/test_judge.py::test_message_has_the_key_and_the_timestamp_that_are_given"

SAME = "A verdict of `pts judge` is that of the job"
UNKNOWN = "A rule on a key or a timestamp that `pts judge` does not know is left out"
HOSTILE = "What a message says is printed as text that no terminal obeys, and is cut off"

MUTATIONS = (
    Mutation(
        SAME, "fields beyond the last are ignored",
        DECODE, "len(parts) != len(fields) or", "len(parts) < len(fields) or",
        EVENTS,
    ),
    Mutation(
        SAME, "what stands around a quoted field is skipped",
        DECODE, " or sum(len(part) + 1 for part in parts) != len(line) + 1", "", EVENTS,
    ),
    Mutation(
        SAME, "of a name that occurs twice the last counts", DECODE, "len(members) < len(pairs)", "False", EVENTS_JSON
    ),
    Mutation(
        SAME, "half of a surrogate pair is text", DECODE, 'if "\\\\u" in text:', "if False:", EVENTS_JSON
    ),
    Mutation(SAME, "NaN is a number", DECODE, "parse_constant=_refused", "parse_constant=_number", RANDOM),
    Mutation(
        SAME, "a level more is read", DECODE, "default=0) > MAX_JSON_LEVELS", "default=0) > MAX_JSON_LEVELS + 1", LEVELS
    ),
    Mutation(
        SAME, "a JSON number may stand for a text",
        DECODE, 'return kind == "integer" and integer(member) is not None', "return True", EVENTS_JSON,
    ),
    Mutation(
        SAME, "a number of 65 bits is read", DECODE, "-(1 << 63) <= number < 1 << 63", "-(1 << 64) < number < 1 << 64",
        EVENTS,
    ),
    Mutation(SAME, "an offset of 19 hours is one", DECODE, "timedelta(hours=18)", "timedelta(hours=19)", EVENTS),
    Mutation(SAME, "the year 0 is the year 400", DECODE, " - is_year_zero * CALENDAR_CYCLE", "", YEARS),
    Mutation(
        SAME, "a time without an offset is UTC where it is none",
        DECODE, "if match is None or (needs_offset and not match[2]):", "if match is None:", WITH_OFFSET,
    ),
    Mutation(
        SAME, "a required field may be missing",
        JUDGE, "each.is_required and texts[each.column] is None", "False", EVENTS,
    ),
    Mutation(SAME, "tracking number 0 is accepted", JUDGE, '(each.column == "tracking_number")', "0", EVENTS),
    Mutation(
        SAME, "no key fits every package",
        JUDGE, "if message.has_key and message.key != number", "if message.key and message.key != number", EVENTS,
    ),
    Mutation(
        SAME, "tracking number 0 of a withdrawal is accepted",
        JUDGE, "tracking_number <= 0", "tracking_number < 0", ROUTES
    ),
    Mutation(
        SAME, "the first moment is accepted",
        JUDGE, "first < message.timestamp_ms < last", "first <= message.timestamp_ms < last", ROUTES,
    ),
    Mutation(SAME, "exactly 10 minutes are refused", JUDGE, "if ahead > FUTURE", "if ahead >= FUTURE", EVENTS),
    Mutation(SAME, "exactly 7 days are refused", JUDGE, "if -ahead > LATENESS", "if -ahead >= LATENESS", EVENTS),
    Mutation(
        SAME, "a detail counts milliseconds", JUDGE, "{-ahead // SECOND} s before", "{-ahead // 1_000} s before", GIVEN
    ),
    Mutation(
        UNKNOWN, "a key that is not given is none",
        JUDGE, "if message.has_key and message.key", "if message.key", LEFT_OUT
    ),
    Mutation(
        HOSTILE, "a detail is printed as it is",
        COMMAND, "printable(verdict.detail, MOST_SHOWN)", "verdict.detail", SHOWN,
    ),
)  # fmt: skip
