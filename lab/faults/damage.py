"""Bytes of a value, damaged: what a bad line, a bad disk or a bad program makes of it."""

from collections.abc import Callable
from random import Random

INVALID_UTF8 = (
    *(b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc2", b"\xc2A", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xe2\x82"),
    *(b"\xe2(\xa1", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xed\xa0\xbd\xed\xb3\xa6", b"\xef\xbf", b"\xf0\x80\x80\x80"),
    *(b"\xf0\x8f\xbf\xbf", b"\xf0\x9f\x93", b"\xf0\x9f", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80"),
    *(b"\xf7\xbf\xbf\xbf", b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80", b"\xfe", b"\xff", b"\xff\xfe"),
    *(b"\xfe\xff\x004", b"\xfc"),
)
VALID_UTF8 = (
    *(b"\xc2\x80", b"\xdf\xbf", b"\xe0\xa0\x80", b"\xed\x9f\xbf", b"\xee\x80\x80"),
    *(b"\xef\xbb\xbf", b"\xf4\x8f\xbf\xbf"),
)
TOKENS = (
    *(b",", b'"', b'""', b"\r", b"\n", b"\r\n", b"\0", b" ", b"\\", b"\\u", b":", b"{", b"}", b"[", b"]", b"-", b"+"),
    *(b".", b"0", b"9", b"e", b"null", b"\t", b"\x1f", b"\x7f", b";", b"T", b"Z", b"/*", b"//"),
)
DELIMITERS = b',":{}[]\r\n\\'

Damage = Callable[[Random, bytes, bytes], bytes]


def _place(rng: Random, value: bytes) -> int:
    return rng.randint(0, len(value))


def _span(rng: Random, value: bytes) -> tuple[int, int]:
    """Mostly short, sometimes as long as it can be."""
    start = _place(rng, value)
    length = rng.choice((1, 1, 2, 4, 16, len(value)))
    return start, min(len(value), start + rng.randint(0, length))


def flip_bit(rng: Random, value: bytes, _: bytes) -> bytes:
    at = rng.randrange(len(value))
    return value[:at] + bytes((value[at] ^ 1 << rng.randrange(8),)) + value[at + 1 :]


def set_byte(rng: Random, value: bytes, _: bytes) -> bytes:
    at = rng.randrange(len(value))
    return value[:at] + bytes((rng.randrange(256),)) + value[at + 1 :]


def cut_end(rng: Random, value: bytes, _: bytes) -> bytes:
    return value[: _place(rng, value)]


def cut_start(rng: Random, value: bytes, _: bytes) -> bytes:
    return value[_place(rng, value) :]


def remove_span(rng: Random, value: bytes, _: bytes) -> bytes:
    start, end = _span(rng, value)
    return value[:start] + value[end:]


def repeat_span(rng: Random, value: bytes, _: bytes) -> bytes:
    start, end = _span(rng, value)
    return value[:end] + value[start:end] * rng.choice((1, 1, 3)) + value[end:]


def move_span(rng: Random, value: bytes, _: bytes) -> bytes:
    start, end = _span(rng, value)
    rest = value[:start] + value[end:]
    at = _place(rng, rest)
    return rest[:at] + value[start:end] + rest[at:]


def insert_token(rng: Random, value: bytes, _: bytes) -> bytes:
    at = _place(rng, value)
    return value[:at] + rng.choice((*TOKENS, *VALID_UTF8)) + value[at:]


def insert_invalid(rng: Random, value: bytes, _: bytes) -> bytes:
    at = _place(rng, value)
    return value[:at] + rng.choice(INVALID_UTF8) + value[at:]


def remove_delimiter(rng: Random, value: bytes, _: bytes) -> bytes:
    at = _delimiter(rng, value)
    return value[:at] + value[at + 1 :]


def repeat_delimiter(rng: Random, value: bytes, _: bytes) -> bytes:
    at = _delimiter(rng, value)
    return value[:at] + value[at : at + 1] * 2 + value[at + 1 :]


def replace_delimiter(rng: Random, value: bytes, _: bytes) -> bytes:
    at = _delimiter(rng, value)
    return value[:at] + rng.choice(TOKENS) + value[at + 1 :]


def _delimiter(rng: Random, value: bytes) -> int:
    places = [at for at, byte in enumerate(value[:4096]) if byte in DELIMITERS]
    return rng.choice(places or (len(value),))


def splice(rng: Random, value: bytes, other: bytes) -> bytes:
    return value[: _place(rng, value)] + other[_place(rng, other) :]


def append_other(rng: Random, value: bytes, other: bytes) -> bytes:
    return value + rng.choice((b"", b"\n", b",", b" ")) + other


DAMAGES: tuple[Damage, ...] = (
    *(flip_bit, flip_bit, set_byte, cut_end, cut_start, remove_span, repeat_span, move_span, insert_token),
    *(insert_token, insert_invalid, remove_delimiter, remove_delimiter, repeat_delimiter, replace_delimiter),
    *(splice, append_other),
)


def damaged(rng: Random, value: bytes, other: bytes) -> bytes:
    """The value after one to four damages; `other` is another value, of which parts may be taken."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if not value:
            break
        value = rng.choice(DAMAGES)(rng, value, other)
    return value
