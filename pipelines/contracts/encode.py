"""How a value is written: an RFC 4180 record, or a JSON object with the names of the contract.

What is written is what `contracts/decode.py` reads as the same texts. They are in the order of the topic's fields.
"""

from collections.abc import Sequence
from json.encoder import encode_basestring

from pipelines.contracts.topics import Topic, WireField
from pipelines.wire_format import WireFormat


def encoded(texts: Sequence[str | None], topic: Topic, wire_format: WireFormat) -> bytes:
    """The value that says these texts; None is a missing field."""
    return csv_record([text or "" for text in texts]) if wire_format == "csv" else json_object(texts, topic)


def csv_record(texts: Sequence[str]) -> bytes:
    """Without a line break at its end, quoted only where it must be. An empty text is a missing field."""
    line = ",".join(texts)
    if line.count(",") >= len(texts) or '"' in line or "\n" in line or "\r" in line:
        line = ",".join(map(_cell, texts))
    return line.encode()


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def json_object(texts: Sequence[str | None], topic: Topic) -> bytes:
    """An integer that is written as JSON writes it is a number, but for a tracking number, which may outgrow a double;
    any other is a text.
    """
    members = (f'"{field.name}":{_member(field, text)}' for field, text in zip(topic.fields, texts, strict=True))
    return f"{{{','.join(members)}}}".encode()


def _member(field: WireField, text: str | None) -> str:
    if text is None:
        return "null"
    is_number = field.kind == "integer" and field.name != "trackingNumber" and _is_natural(text)
    return text if is_number else encode_basestring(text)


def _is_natural(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text[0] != "0" or text == "0")
