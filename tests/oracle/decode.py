"""From a value's bytes to named members, and from a member to a typed field."""

import re

from tests.oracle.csv_record import parse_csv
from tests.oracle.json_object import JsonValue, Number, parse_json_object
from tests.oracle.rejection import RejectedError

_INTEGER = re.compile(r"([+-]?)0*([0-9]+)")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))?"
)
_MAX_INT64_DIGITS = 19
_MAX_OFFSET_MINUTES = 18 * 60
_DAYS_BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)
_DAYS_FROM_YEAR_0_TO_1970 = 719_528


def decode(value: bytes, wire_format: str, names: tuple[str, ...]) -> dict[str, JsonValue]:
    """The members of a value by name; in CSV these are `names`, in order, and an empty field is null.

    Raises:
        RejectedError: `empty`, `not_utf8` or `malformed`.
    """
    if not value:
        raise RejectedError("empty")
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        raise RejectedError("not_utf8") from None
    if wire_format == "json":
        return parse_json_object(text)
    fields = parse_csv(text)
    if len(fields) != len(names):
        raise RejectedError("malformed")
    return {name: field or None for name, field in zip(names, fields, strict=True)}


def integer(member: JsonValue) -> int:
    """An optional sign and ASCII digits that fit 64 bits, from text or from a number spelled like that."""
    literal = member.literal if isinstance(member, Number) else member
    match = _INTEGER.fullmatch(literal) if isinstance(literal, str) else None
    if match is None or len(match[2]) > _MAX_INT64_DIGITS:
        raise RejectedError("bad_type")
    number = -int(match[2]) if match[1] == "-" else int(match[2])
    if not -(2**63) <= number < 2**63:
        raise RejectedError("bad_type")
    return number


def text(member: JsonValue) -> str:
    """The text itself; nothing else is turned into text."""
    if not isinstance(member, str):
        raise RejectedError("bad_type")
    return member


def timestamp(member: JsonValue) -> int:
    """Microseconds since the epoch, finer digits cut off; the calendar is proleptic Gregorian from the year 0000 on."""
    match = _TIMESTAMP.fullmatch(member) if isinstance(member, str) else None
    if match is None:
        raise RejectedError("bad_type")
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = match.groups()[6:]
    if hour > 23 or minute > 59 or second > 59:
        raise RejectedError("bad_type")
    seconds = _days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    seconds -= _offset_seconds(sign, int(offset_hours), int(offset_minutes)) if sign else 0
    return seconds * 1_000_000 + int((fraction or "")[:6].ljust(6, "0"))


def names_offset(timestamp: JsonValue) -> bool:
    """Whether a text that is a time ends with `Z`, `+hh:mm` or `-hh:mm`."""
    return isinstance(timestamp, str) and (timestamp[-1] == "Z" or timestamp[-6] in "+-")


def _offset_seconds(sign: str, hours: int, minutes: int) -> int:
    if minutes > 59 or hours * 60 + minutes > _MAX_OFFSET_MINUTES:
        raise RejectedError("bad_type")
    seconds = hours * 3600 + minutes * 60
    return -seconds if sign == "-" else seconds


def _days_since_epoch(year: int, month: int, day: int) -> int:
    """`datetime` knows no year 0, hence this arithmetic."""
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or day < 1:
        raise RejectedError("bad_type")
    month_days = _DAYS_BEFORE_MONTH[month] - _DAYS_BEFORE_MONTH[month - 1] + (is_leap and month == 2)
    if day > month_days:
        raise RejectedError("bad_type")
    leap_days_before_year = (year + 3) // 4 - (year + 99) // 100 + (year + 399) // 400
    day_of_year = _DAYS_BEFORE_MONTH[month - 1] + (is_leap and month > 2) + day - 1
    return year * 365 + leap_days_before_year + day_of_year - _DAYS_FROM_YEAR_0_TO_1970
