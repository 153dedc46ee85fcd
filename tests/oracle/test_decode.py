import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle.csv_record import parse_csv
from tests.oracle.decode import decode, integer, timestamp
from tests.oracle.json_object import MAX_JSON_DEPTH, JsonValue, Number, parse_json_object
from tests.oracle.rejection import RejectedError

TEXT = st.text(st.characters(codec="utf-8"))
CSV_TEXT = st.text(st.one_of(st.sampled_from('",\r\n \0\\'), st.characters(codec="utf-8")))
JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda children: st.lists(children) | st.dictionaries(TEXT, children),
    max_leaves=20,
)
JSON_PIECES = st.sampled_from(
    [*"{}[]:,019-+.eEu\"'\\/ \t\n\0\u00a0", "", "null", "NaN", '"a"', ',"a":1', "[1]", "\\u00e9"]
)


@given(st.lists(CSV_TEXT, min_size=2), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), st.booleans())
def test_fields_written_as_csv_are_read_back(fields: list[str], quoting: Any, has_line_break: bool) -> None:
    written = io.StringIO(newline="")
    csv.writer(written, quoting=quoting, lineterminator="\r\n").writerow(fields)
    text = written.getvalue()
    assert parse_csv(text if has_line_break else text.removesuffix("\r\n")) == fields


def test_an_empty_quoted_field_is_a_field() -> None:
    assert parse_csv('"",,""') == ["", "", ""]


@pytest.mark.parametrize(
    "text", ['a"b', '"a"b', '"a" ,b', '"a', '"', 'a,"b\n', "a\nb", "a\r", "a\n\n", '"a"\r', '"a""']
)
def test_text_that_rfc_4180_does_not_allow_is_malformed(text: str) -> None:
    with pytest.raises(RejectedError, match="malformed"):
        parse_csv(text)


@pytest.mark.slow
@given(st.dictionaries(TEXT, JSON_VALUES), st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_valid_json_is_read_as_the_standard_library_reads_it(
    document: dict[str, Any], is_ascii: bool, indent: Any
) -> None:
    text = json.dumps(document, ensure_ascii=is_ascii, indent=indent)
    assert plain(parse_json_object(text)) == document


@given(st.dictionaries(TEXT, JSON_VALUES, max_size=2), JSON_PIECES, st.floats(0, 1), st.integers(0, 2))
def test_damaged_json_is_refused_where_the_standard_library_refuses_it(
    whole: dict[str, Any], piece: str, where: float, removed: int
) -> None:
    text = json.dumps(whole, ensure_ascii=False)
    position = round(where * len(text))
    text = text[:position] + piece + text[position + removed :]
    try:
        document = json.loads(text, object_pairs_hook=unique_members, parse_constant=refuse)
        is_object = isinstance(document, dict)
    except ValueError:
        is_object = False
    if is_object:
        assert plain(parse_json_object(text)) == document
    else:
        with pytest.raises(RejectedError, match="malformed"):
            parse_json_object(text)


@pytest.mark.parametrize(
    "escape", [r"\ud800", r"\udc00", r"\ud800A", r"\ud800\ud800", r"\udc00\ud800", r"\ud800\\udc00"]
)
def test_half_of_a_surrogate_pair_is_malformed(escape: str) -> None:
    with pytest.raises(RejectedError, match="malformed"):
        parse_json_object(f'{{"a": "{escape}"}}')


def test_an_escaped_backslash_before_a_u_escapes_nothing() -> None:
    assert parse_json_object(r'{"a": "\\ud800"}') == {"a": r"\ud800"}


def test_numbers_keep_their_spelling() -> None:
    assert parse_json_object('{"a": 1.0, "b": -0}') == {"a": Number("1.0"), "b": Number("-0")}


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_is_read_down_to_the_limit_and_no_deeper(opening: str, closing: str) -> None:
    inner_depth = MAX_JSON_DEPTH - 1
    innermost = "" if opening == "[" else "0"
    parse_json_object('{"a":' + opening * inner_depth + innermost + closing * inner_depth + "}")
    with pytest.raises(RejectedError, match="malformed"):
        parse_json_object('{"a":' + opening * (inner_depth + 1) + innermost + closing * (inner_depth + 1) + "}")


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 30))
def test_integers_of_64_bits_are_read_whatever_their_leading_zeros(number: int, zeros: int) -> None:
    sign = "-" if number < 0 else ""
    assert integer(f"{sign}{'0' * zeros}{abs(number)}") == integer(Number(str(number))) == number


@pytest.mark.parametrize(
    "text", ["", "+", "1.0", "1e3", " 1", "1\n", "1_0", "٣", str(2**63), str(-(2**63) - 1), "9" * 9999]
)
def test_anything_else_is_no_integer(text: str) -> None:
    with pytest.raises(RejectedError, match="bad_type"):
        integer(text)


@given(st.datetimes(), st.integers(-18 * 60, 18 * 60), st.sampled_from("T "))
def test_times_are_read_as_the_standard_library_reads_them(moment: datetime, offset: int, separator: str) -> None:
    sign = "-" if offset < 0 else "+"
    zone = f"{sign}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
    since_epoch = moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    expected = (since_epoch - timedelta(minutes=offset)) // timedelta(microseconds=1)
    assert timestamp(moment.isoformat(separator) + zone) == expected


def test_the_year_zero_is_a_leap_year_just_before_the_year_one() -> None:
    day = 86_400_000_000
    assert timestamp("0001-01-01T00:00:00") - timestamp("0000-12-31T00:00:00") == day
    assert timestamp("0000-03-01T00:00:00") - timestamp("0000-02-28T00:00:00") == 2 * day


def test_digits_beyond_the_microsecond_are_cut_off_also_before_the_epoch() -> None:
    assert timestamp("1970-01-01T00:00:00.000001999") == 1
    assert timestamp("1969-12-31T23:59:59.999999999Z") == -1


@pytest.mark.parametrize(
    ("value", "reason"), [(b"", "empty"), (b"\xff", "not_utf8"), (b"\xed\xa0\x80", "not_utf8"), (b"1", "malformed")]
)
def test_a_value_is_refused_before_it_is_read(value: bytes, reason: str) -> None:
    with pytest.raises(RejectedError, match=reason):
        decode(value, "csv", ("a", "b"))


def test_an_empty_csv_field_is_null_and_an_empty_json_text_is_not() -> None:
    assert decode(b'1,""', "csv", ("a", "b")) == {"a": "1", "b": None}
    assert decode(b'{"a": "", "c": null}', "json", ("a", "b")) == {"a": "", "c": None}


def plain(value: JsonValue) -> Any:
    """What the standard library makes of the same JSON."""
    if isinstance(value, Number):
        return json.loads(value.literal)
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member name occurs twice")
    return members


def refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
