"""The envelope: texts that are readable for as long as their key is there (ADR 29).

`sealed:1:package:<base64>` stands in a scan's status_description, `sealed:1:day:<date>:<base64>` in place of a whole
value. The base64 (URL-safe, padded) has a nonce of 12 bytes and what AES-256-GCM makes of the text. Associated data are
the topic and, of a package, its tracking number: an envelope that was moved to another package does not open.
"""

import binascii
import json
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES, NONCE_BYTES, TAG_BYTES = 32, 12, 16

OF_A_PACKAGE = "sealed:1:package:"
OF_A_DAY_BYTES = b"sealed:1:day:"
MARK = "sealed:1:"
"""What every envelope begins with."""

ENVELOPE = re.compile(rb"sealed:1:(?:package|day:\d{4}-\d{2}-\d{2}):[A-Za-z0-9_=-]*")

SEALED, ERASED = "[sealed]", "[erased]"
"""What people are shown in place of an envelope that is not opened for them, and of one that opens no more."""

OF_A_DAY = re.compile(r"sealed:1:day:(\d{4}-\d{2}-\d{2}):([A-Za-z0-9_=-]+)")


def new_key() -> bytes:
    """A random key, that nothing else follows from."""
    return secrets.token_bytes(KEY_BYTES)


def sealed_fields(texts: Mapping[str, str], key: bytes, tracking_number: int, topic: str) -> str:
    """An envelope with texts by column."""
    inner = json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode()
    return OF_A_PACKAGE + _sealed(inner, key, f"{tracking_number}:{topic}")


def opened_fields(envelope: str | None, key: bytes | None, tracking_number: int, topic: str) -> dict[str, str] | None:
    """The texts by column; None without the key, and for what is no envelope of this package and topic."""
    if key is None or envelope is None or not envelope.startswith(OF_A_PACKAGE):
        return None
    inner = _opened(envelope.removeprefix(OF_A_PACKAGE), key, f"{tracking_number}:{topic}")
    return None if inner is None else json.loads(inner)


def sealed_value(value: bytes, key: bytes, day: str, topic: str) -> bytes:
    """An envelope with a whole value. It is no CSV record and no JSON object of any topic."""
    return f"sealed:1:day:{day}:{_sealed(value, key, f'{day}:{topic}')}".encode()


def largest_sealed(most_bytes: int) -> int:
    """How many bytes a value may have so that its envelope, where it is sealed whole, has at most so many."""
    return max(0, (most_bytes - len("sealed:1:day:yyyy-MM-dd:")) // 4 * 3 - NONCE_BYTES - TAG_BYTES)


def opened_value(envelope: bytes, key: bytes | None, topic: str) -> bytes | None:
    """The value; None without the key of its day (`day_of`), and for what is no envelope of this topic."""
    match = OF_A_DAY.fullmatch(envelope.decode(errors="replace"))
    return _opened(match[2], key, f"{match[1]}:{topic}") if match and key else None


def day_of(envelope: bytes) -> str | None:
    """By which day's key a whole value is sealed; None for what is no such envelope."""
    match = OF_A_DAY.fullmatch(envelope.decode(errors="replace"))
    return match[1] if match else None


def masked(text: str) -> str:
    """The text with `[sealed]` in place of each envelope in it, or what is left of one that was cut off."""
    return masked_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass") if MARK in text else text


def masked_bytes(value: bytes) -> bytes:
    """The bytes with `[sealed]` in place of each envelope in them, as `masked`."""
    return ENVELOPE.sub(SEALED.encode(), value)


def _sealed(inner: bytes, key: bytes, associated: str) -> str:
    nonce = secrets.token_bytes(NONCE_BYTES)
    return urlsafe_b64encode(nonce + AESGCM(key).encrypt(nonce, inner, associated.encode())).decode()


def _opened(text: str, key: bytes, associated: str) -> bytes | None:
    try:
        raw = urlsafe_b64decode(text)
        return AESGCM(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], associated.encode())
    except (InvalidTag, ValueError, binascii.Error):
        return None
