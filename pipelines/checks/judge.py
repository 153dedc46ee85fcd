"""`pts judge`: what the rules say of messages that nobody has sent yet. No broker, no Java, no lake."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from pipelines.commands import STANDARD_INPUT, Judge
from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.examples import ACCEPTED
from pipelines.contracts.judge import Message, Verdict, judged
from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.contracts.wire import Wire
from pipelines.errors import InvalidInput, MessagesRejected, printable
from pipelines.settings import Settings
from pipelines.state.lake_choices import wires

LARGEST_MESSAGE = 1 << 24
"""Bytes: more than a broker takes."""

LARGEST_ARRAY = 1 << 26
"""Bytes of the records, which are read as a whole."""

MOST_SHOWN = 1_000
"""Characters of a detail: it may quote an integer of megabytes."""

Timestamp = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)] | AwareDatetime
"""Milliseconds since the Unix epoch, or ISO 8601 with an offset."""


class Record(BaseModel):
    """A message as `--as records` has it: key and value as text, or in base64 where they are none.

    A key or a timestamp that is not there is not judged. A value that is null withdraws a route.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, val_json_bytes="base64")

    key: str | None = None
    key_base64: bytes | None = None
    value: str | None = None
    value_base64: bytes | None = None
    timestamp: Timestamp | None = None

    @model_validator(mode="after")
    def _says_each_once(self) -> "Record":
        if len(self.model_fields_set & {"value", "value_base64"}) != 1:
            raise ValueError("it needs either value or value_base64")
        if self.model_fields_set >= {"key", "key_base64"}:
            raise ValueError("it has both key and key_base64")
        return self

    def message(self) -> Message:
        """The message that the record describes."""
        return Message(
            value=_bytes(self.value, self.value_base64),
            key=_bytes(self.key, self.key_base64),
            timestamp_ms=_milliseconds(self.timestamp),
            has_key=bool(self.model_fields_set & {"key", "key_base64"}),
        )


@dataclass
class Summary:
    """How many messages there were of each verdict, and of how many a rule was left out.

    Attributes:
        verdicts: Messages by `accepted` or reason.
        without_key: Messages whose key is not known.
        without_timestamp: Messages whose timestamp is not known.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    without_key: int = 0
    without_timestamp: int = 0

    def add(self, message: Message, verdict: Verdict) -> None:
        """Counts a message."""
        self.verdicts[verdict.reason or ACCEPTED] += 1
        self.without_key += not message.has_key
        self.without_timestamp += message.timestamp_ms is None

    @property
    def quarantined(self) -> dict[str, int]:
        """Messages by reason, the most frequent first."""
        return {name: count for name, count in self.verdicts.most_common() if name != ACCEPTED}

    def as_json(self) -> dict[str, Any]:
        return {
            "messages": self.verdicts.total(),
            "accepted": self.verdicts[ACCEPTED],
            "quarantined": self.quarantined,
            "without_key": self.without_key,
            "without_timestamp": self.without_timestamp,
        }

    def raise_if_rejected(self) -> None:
        """Does nothing if all messages were accepted.

        Raises:
            MessagesRejected: some were not.
        """
        if rejected := sum(self.quarantined.values()):
            raise MessagesRejected(f"{rejected:,} of {self.verdicts.total():,} messages would be quarantined.")


@dataclass(frozen=True)
class JudgedMessage:
    """A message's number in the input (from 1), its verdict (`accepted`, or the reason), and what is wrong with it."""

    message: int
    verdict: str
    detail: str | None

    @classmethod
    def of(cls, number: int, verdict: Verdict) -> Self:
        detail = verdict.detail and printable(verdict.detail, MOST_SHOWN)
        return cls(number, verdict.reason or ACCEPTED, detail)


def run(command: Judge, settings: Settings, standard_input: BinaryIO) -> Iterator[tuple[Message, Verdict]]:
    """Each message of the input with its verdict, in order; messages are read as they are judged.

    Raises:
        InvalidInput: The input cannot be read, holds no message or one that no broker takes, or is no array of records.
    """
    (topic,) = (topic for topic in INPUT_TOPICS if topic.name == command.topic)
    chosen = wires(settings)[topic.name]
    wire = Wire(command.wire_format or chosen.format, chosen.needs_offset)
    message = None
    try:
        is_piped = command.file == STANDARD_INPUT
        with nullcontext(standard_input) if is_piped else Path(command.file).open("rb") as source:
            for message in messages(source, command):
                yield message, judged(message, topic, wire)
    except OSError as error:
        raise InvalidInput(f"{command.file} cannot be read: {error.strerror}.") from error
    if message is None:
        raise InvalidInput(f"There is no message in {command.file}.")


def messages(source: BinaryIO, command: Judge) -> Iterator[Message]:
    """The messages of the input, one by one, as they are read. Raises `InvalidInput` for one that is too large."""
    if command.given_as == "records":
        yield from (record.message() for record in _records(source))
        return
    key = None if command.key is None else os.fsencode(command.key)
    timestamp_ms, has_key = _milliseconds(command.timestamp), command.key is not None
    for value in _lines(source) if command.given_as == "lines" else [_read(source, LARGEST_MESSAGE, "The message")]:
        yield Message(value, key, timestamp_ms, has_key)


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines without their line breaks."""
    number = 0
    while line := source.readline(LARGEST_MESSAGE + 1):
        number += 1
        if len(line) > LARGEST_MESSAGE:
            raise _too_large(f"Line {number:,}", LARGEST_MESSAGE)
        yield line[:-2] if line.endswith(b"\r\n") else line.removesuffix(b"\n")


def _records(source: BinaryIO) -> list[Record]:
    try:
        return TypeAdapter(list[Record]).validate_json(_read(source, LARGEST_ARRAY, "The array"))
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        index, *member = fault["loc"] or ("",)
        place = f"record {index + 1:,}, {'.'.join(map(str, member))}" if isinstance(index, int) else "the input"
        raise InvalidInput(f"This is no JSON array of records; {place.rstrip(', ')}: {fault['msg']}.") from error


def _read(source: BinaryIO, most: int, what: str) -> bytes:
    if len(value := source.read(most + 1)) > most:
        raise _too_large(what, most)
    return value


def _too_large(what: str, most: int) -> InvalidInput:
    return InvalidInput(f"{what} has more than {most:,} bytes. Judge its messages as lines, in several files.")


def _bytes(text: str | None, decoded: bytes | None) -> bytes | None:
    return decoded if text is None else text.encode()


def _milliseconds(timestamp: Timestamp | None) -> int | None:
    if timestamp is None or isinstance(timestamp, int):
        return timestamp
    return (timestamp - EPOCH) // timedelta(milliseconds=1)
