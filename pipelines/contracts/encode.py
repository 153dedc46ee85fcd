"""How a value is written: an RFC 4180 record, or a JSON object with the names of the contract."""

import json
from collections.abc import Mapping
from typing import Any

from pipelines.contracts.decode import integer
from pipelines.contracts.topics import Topic


def encoded(texts: Mapping[str, str | None], topic: Topic, wire_format: str) -> bytes:
    """The value that says these texts, by column: what `contracts/decode.py` reads as the same ones.

    In JSON, an integer that is written as JSON writes it is a number, but for a tracking number, which may outgrow a
    double; any other is a text.
    """
    if wire_format == "csv":
        return ",".join(_cell(texts[field.column] or "") for field in topic.fields).encode()
    members = {field.name: _member(field.kind, field.name, texts[field.column]) for field in topic.fields}
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


def _member(kind: str, name: str, text: str | None) -> Any:
    if text is None or kind != "integer" or name == "trackingNumber":
        return text
    number = integer(text)
    return number if str(number) == text else text
