"""Example messages, good and bad, each named by what it shows: the contract's rules at their edges.

One TOML file per input topic. A `[[message]]` has

- `name`: what it shows, unique in the file;
- `timestamp`: the record's Kafka timestamp, ISO 8601 with an offset, to the millisecond;
- `key` (text) or `key_hex` (bytes), neither for a null key;
- `csv` and/or `json` (text), or `csv_hex` and/or `json_hex` (bytes): the value in the formats in which the message
  can be sent; or `value_is_null = true`, the same in both;
- `verdict`: `accepted`, or the reason for quarantine, the same in both formats.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, get_args

from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.rules import Reason
from pipelines.wire_format import WireFormat

ACCEPTED = "accepted"
WIRE_FORMATS: tuple[WireFormat, ...] = get_args(WireFormat)

_VALUE_MEMBERS = {f"{wire_format}{suffix}" for wire_format in WIRE_FORMATS for suffix in ("", "_hex")}
_MEMBERS = {"name", "timestamp", "key", "key_hex", "value_is_null", "verdict"} | _VALUE_MEMBERS
_VERDICTS = {ACCEPTED, *Reason}


@dataclass(frozen=True)
class Example:
    """One record in one wire format, and what must become of it."""

    name: str
    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    verdict: str
    """`accepted` or a `Reason`."""


def load_examples(topic_name: str, wire_format: str) -> list[Example]:
    """The examples of a topic that can be sent in a wire format, in the order of the file.

    Raises:
        ValueError: if a message has a member that is unknown, missing or contradicts another, or if two share a name.
    """
    path = Path(__file__).with_name(f"{topic_name.replace('-', '_')}.toml")
    return parse_examples(path.read_text(encoding="utf-8"), wire_format, origin=path.name)


def parse_examples(text: str, wire_format: str, origin: str = "examples") -> list[Example]:
    """The examples in the text of a TOML file; `origin` names it in errors, which are those of `load_examples`."""
    document = tomllib.loads(text)
    if unknown := document.keys() - {"message"}:
        raise ValueError(f"{origin}: unknown {', '.join(sorted(unknown))}; a file holds [[message]] only")
    messages: list[dict[str, Any]] = document.get("message", [])
    names: set[str] = set()
    for message in messages:
        _check(message, origin)
        if message["name"] in names:
            raise ValueError(f"{origin}: two messages are named {message['name']}")
        names.add(message["name"])
    sendable = {"value_is_null", wire_format, f"{wire_format}_hex"}
    return [_example(message, wire_format) for message in messages if sendable & message.keys()]


def _check(message: Mapping[str, Any], origin: str) -> None:
    where = f"{origin}: message {message.get('name', '(without a name)')}"
    if missing := {"name", "timestamp", "verdict"} - message.keys():
        raise ValueError(f"{where} lacks {', '.join(sorted(missing))}")
    if unknown := message.keys() - _MEMBERS:
        raise ValueError(f"{where} has unknown {', '.join(sorted(unknown))}; known are {', '.join(sorted(_MEMBERS))}")
    for member in ("key", *WIRE_FORMATS):
        if {member, f"{member}_hex"} <= message.keys():
            raise ValueError(f"{where} has both {member} and {member}_hex")
    if message.get("value_is_null", True) is not True or ("value_is_null" in message) == bool(
        _VALUE_MEMBERS & message.keys()
    ):
        raise ValueError(f"{where} needs either a value in some format or value_is_null = true")
    if message["verdict"] not in _VERDICTS:
        raise ValueError(f"{where} has unknown verdict {message['verdict']}; known are {', '.join(sorted(_VERDICTS))}")
    if datetime.fromisoformat(message["timestamp"]).tzinfo is None:
        raise ValueError(f"{where} has a timestamp without an offset: {message['timestamp']}")


def _example(message: Mapping[str, Any], wire_format: str) -> Example:
    return Example(
        name=message["name"],
        key=_bytes(message, "key"),
        value=_bytes(message, wire_format),
        timestamp_ms=(datetime.fromisoformat(message["timestamp"]) - EPOCH) // timedelta(milliseconds=1),
        verdict=message["verdict"],
    )


def _bytes(message: Mapping[str, Any], member: str) -> bytes | None:
    """A member given as text or as hexadecimal digits; None if it is not there."""
    if (digits := message.get(f"{member}_hex")) is not None:
        return bytes.fromhex(digits)
    text: str | None = message.get(member)
    return None if text is None else text.encode()
