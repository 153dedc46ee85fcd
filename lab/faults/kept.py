"""Inputs on which the pipeline and the oracle once differed, each with the verdict that the contract decides."""

from typing import NamedTuple

from tests.oracle.json_object import MAX_JSON_DEPTH, MAX_NAME_CHARACTERS, MAX_NUMBER_DIGITS


class Kept(NamedTuple):
    """A JSON value of ship-events with key 42 and the time of `MOMENT_MS`."""

    name: str
    value: bytes
    verdict: str


MOMENT_MS = 1_772_359_200_000

_REST = b'"trackingNumber":42,"occurredAt":"2026-03-01T10:00:00","currentStopId":3'


def _with_code(value: bytes) -> bytes:
    return b'{"eventCode":%s,%s}' % (value, _REST)


def _with_unknown(member: bytes) -> bytes:
    return b'{"eventCode":"SCAN",%s,%s}' % (member, _REST)


_DEEP = (MAX_JSON_DEPTH - 1) // 2

KEPT = (
    Kept("a-field-of-many-levels-ended-the-process", _with_code(b'[{"a":' * _DEEP + b"1" + b"}]" * _DEEP), "bad_type"),
    Kept("an-array-of-many-levels", _with_code(b"[" * (2 * _DEEP) + b"]" * (2 * _DEEP)), "bad_type"),
    Kept("an-object-of-many-levels", _with_code(b'{"a":' * (2 * _DEEP) + b"1" + b"}" * (2 * _DEEP)), "bad_type"),
    Kept(
        "a-fraction-of-as-many-digits-as-allowed", _with_unknown(b'"x":0.' + b"1" * (MAX_NUMBER_DIGITS - 1)), "accepted"
    ),
    Kept("a-fraction-of-one-digit-more", _with_unknown(b'"x":0.' + b"1" * MAX_NUMBER_DIGITS), "malformed"),
    Kept(
        "an-exponent-of-as-many-digits-as-allowed",
        _with_unknown(b'"x":0e' + b"0" * (MAX_NUMBER_DIGITS - 1)),
        "accepted",
    ),
    Kept("an-exponent-of-one-digit-more", _with_unknown(b'"x":0e' + b"0" * MAX_NUMBER_DIGITS), "malformed"),
    Kept("both-of-as-many-as-allowed", _with_unknown(b'"x":0.5e' + b"1" * (MAX_NUMBER_DIGITS - 2)), "accepted"),
    Kept("both-of-one-digit-more", _with_unknown(b'"x":0.5e' + b"1" * (MAX_NUMBER_DIGITS - 1)), "malformed"),
    Kept(
        "a-name-beyond-the-basic-plane-as-long-as-allowed",
        _with_unknown(b'"%s":1' % ("📦" * (MAX_NAME_CHARACTERS // 2)).encode()),
        "accepted",
    ),
    Kept(
        "and-a-character-longer", _with_unknown(b'"a%s":1' % ("📦" * (MAX_NAME_CHARACTERS // 2)).encode()), "malformed"
    ),
)
