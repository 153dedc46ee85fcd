"""What the bytes of a value say, in plain Python: what `transforms/decode.py` says in Spark (ADR 23)."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import accumulate, islice
from typing import Any

from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.grammar import CSV_FIELD, INTEGER, JSON_STRING, MOMENT, NESTED, OFFSET
from pipelines.contracts.rules import Reason
from pipelines.contracts.topics import MAX_JSON_LEVELS, MAX_NAME_CHARACTERS, MAX_NUMBER_DIGITS, FieldKind, WireField

Texts = dict[str, str | None]
"""Text by column; None where the field is missing."""

TIMESTAMP = re.compile(f"({MOMENT})({OFFSET})?")
MOST_OFFSET = timedelta(hours=18)
CALENDAR_CYCLE = timedelta(days=146_097)
"""400 years, after which the calendar repeats itself: Python's has no year 0."""


class RejectedError(Exception):
    """The message belongs in quarantine.

    Attributes:
        reason: The first that holds.
        detail: What exactly is wrong, for a person.
    """

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def decoded(value: bytes, fields: tuple[WireField, ...], wire_format: str) -> tuple[Texts, str | None]:
    """The texts of a value's fields, and the name of the first field that has the wrong JSON type; None for CSV.

    Raises:
        RejectedError: `empty`, `not_utf8` or `malformed`.
    """
    if not value:
        raise RejectedError(Reason.EMPTY, "the value has no bytes")
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise RejectedError(Reason.NOT_UTF8, "the value is not UTF-8") from None
    return _from_json(text, fields) if wire_format == "json" else (_from_csv(text, fields), None)


def typed(kind: FieldKind, text: str | None, needs_offset: bool = False) -> int | str | None:
    """A field's text as its column's type, a time in microseconds since the Unix epoch; None where it does not parse.

    Args:
        kind: How the field is read.
        text: What the value says; None where it is missing.
        needs_offset: Whether a time that names no offset is none.
    """
    if text is None or kind == "text":
        return text
    return integer(text) if kind == "integer" else _microseconds(text, needs_offset)


def integer(text: str) -> int | None:
    """The integer that a text spells; None where it is none, or does not fit 64 bits."""
    digits = text.lstrip("+-0") or "0"
    if not re.fullmatch(INTEGER, text) or len(digits) > 19:
        return None
    number = -int(digits) if text.startswith("-") else int(digits)
    return number if -(1 << 63) <= number < 1 << 63 else None


def _microseconds(text: str, needs_offset: bool) -> int | None:
    """UTC where the text may name no offset and does not. Digits beyond the microsecond are cut off."""
    match = TIMESTAMP.fullmatch(text)
    if match is None or (needs_offset and not match[2]):
        return None
    is_year_zero = text.startswith("0000")
    try:
        moment = datetime.fromisoformat(f"{'0400' if is_year_zero else text[:4]}{match[1][4:]}{match[2] or 'Z'}")
    except ValueError:
        return None
    if abs(moment.utcoffset() or timedelta()) > MOST_OFFSET:
        return None
    return (moment - EPOCH - is_year_zero * CALENDAR_CYCLE) // timedelta(microseconds=1)


def _from_csv(text: str, fields: tuple[WireField, ...]) -> Texts:
    """RFC 4180, one record, one line break allowed after it."""
    line = text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")
    # Not more fields than there may be, and one: a value can be 16 MiB of commas.
    matches = islice(re.finditer(f",({CSV_FIELD})", f",{line}"), len(fields) + 1)
    parts = [match[1] for match in matches]
    if len(parts) != len(fields) or sum(len(part) + 1 for part in parts) != len(line) + 1:
        raise RejectedError(Reason.MALFORMED, f"the value is not one CSV record of {len(fields)} fields")
    unquoted = (part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts)
    return {field.column: part or None for field, part in zip(fields, unquoted, strict=True)}


class _Number(str):
    """A JSON number as it is spelled."""


def _from_json(text: str, fields: tuple[WireField, ...]) -> tuple[Texts, str | None]:
    """One JSON object with distinct member names. Unknown members are ignored; a JSON null is a missing field."""
    members = _members(text)
    mistyped = (field.name for field in fields if not _has_type(field.kind, members.get(field.name)))
    return {field.column: _text(members.get(field.name)) for field in fields}, next(mistyped, None)


def _has_type(kind: FieldKind, member: Any) -> bool:
    if isinstance(member, _Number):
        return kind == "integer" and integer(member) is not None
    return member is None or isinstance(member, str)


def _text(member: Any) -> str | None:
    """The text of a member; of a number that is an integer its digits, however it is spelled."""
    if isinstance(member, _Number) and (number := integer(member)) is not None:
        return str(number)
    if isinstance(member, dict | list):
        return NESTED
    return json.dumps(member) if isinstance(member, bool) else member


def _members(text: str) -> dict[str, Any]:
    """The members of the object of which the text consists.

    Raises:
        RejectedError: `malformed`, for any other text, and beyond the limits of `contracts/topics.py`.
    """
    try:
        with _recursion_of(2 * MAX_JSON_LEVELS):
            _check_levels(text)
            document = json.loads(
                text,
                object_pairs_hook=_distinct,
                parse_int=_number,
                parse_float=_number,
                parse_constant=_refused,
            )
            if "\\u" in text:
                json.dumps(document, ensure_ascii=False).encode()  # fails for half of a surrogate pair
            if isinstance(document, dict):
                return document
    except ValueError:
        pass
    raise RejectedError(Reason.MALFORMED, "the value is not one JSON object, each of whose names occurs once")


@contextmanager
def _recursion_of(levels: int) -> Iterator[None]:
    """Python's parser of JSON takes so many levels; by itself, it ends some before those of the contract."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + levels)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _check_levels(text: str) -> None:
    brackets = re.findall(r"[\[\]{}]", re.sub(JSON_STRING, "", text))
    if max(accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0) > MAX_JSON_LEVELS:
        raise ValueError("too many levels")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a name that occurs twice")
    if any(len(name.encode("utf-16-le", "surrogatepass")) > 2 * MAX_NAME_CHARACTERS for name in members):
        raise ValueError("a name that is too long")
    return members


def _number(literal: str) -> _Number:
    if len(literal) > MAX_NUMBER_DIGITS and sum(map(str.isdigit, literal)) > MAX_NUMBER_DIGITS:
        raise ValueError("a number that is too long")
    return _Number(literal)


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
