"""What of a message may stand on a log that is kept for ever: the rest of it in an envelope (ADR 29).

`pts seal` calls `sealed` for what it moves; a producer may call it for what it sends to the kept topic itself.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, Protocol

from pipelines.contracts.decode import decoded, integer
from pipelines.contracts.encode import encoded
from pipelines.contracts.envelope import OF_A_DAY_BYTES, largest_sealed, sealed_fields, sealed_value
from pipelines.contracts.judge import Message, judged
from pipelines.contracts.rules import Reason
from pipelines.contracts.topics import SHIP_EVENTS, Topic
from pipelines.contracts.wire import Wire
from pipelines.settings.seal import CARRIER

OF_TIMES = {Reason.BAD_TIMESTAMP, Reason.FROM_THE_FUTURE, Reason.TOO_LATE}
"""Reasons for quarantine of messages whose fields are all understood."""


LARGEST_KEPT_BYTES = 15_000_000
"""Of a sealed value on a topic of the embedded broker, which takes 16 MiB of a record."""

LONGEST_KEY_BYTES = 100
"""Of a key that stays: a tracking number in any spelling that somebody could mean."""


class Keys(Protocol):
    """Gives the keys under which is sealed."""

    def of_package(self, tracking_number: int) -> bytes:
        """The key of a package, minted where there was none; of one that is erased, a key that nobody keeps."""

    def of_today(self) -> tuple[str, bytes]:
        """The day, as `yyyy-MM-dd`, and its key."""


def sealed(
    message: Message,
    topic: Topic,
    wire: Wire,
    fields: Iterable[str],
    keys: Keys,
    most_bytes: int = LARGEST_KEPT_BYTES,
) -> Message:
    """The message as it may be kept: same key, same time, same verdict where that is accepted.

    Of a scan, the columns `fields` are in an envelope, and missing where they stood. A route has none of them. A value
    that is not understood is sealed whole, and is `malformed` then whatever it was before; what is no tracking number
    is taken from its key. JSON members that are not of the contract are left out. What would be larger than
    `most_bytes` is sealed whole, too; of what is too large even so, its beginning (`how_sealed`).
    """
    if message.value is None:  # a withdrawn route, or a record that is `empty`; the key alone could tell something
        return message if _is_number(message.key) else replace(message, key=None)
    verdict = judged(message, topic, wire)
    if verdict.reason is not None and verdict.reason not in OF_TIMES:
        return _sealed_whole(message, topic, keys, most_bytes)
    texts, _ = decoded(message.value, topic.fields, wire.format)
    if topic == SHIP_EVENTS:
        clear = {name: text for name in fields if (text := texts[name])}
        number = integer(texts["tracking_number"] or "")
        assert number is not None, "its message was understood"
        texts.update(dict.fromkeys(fields))
        if clear:
            texts[CARRIER] = sealed_fields(clear, keys.of_package(number), number, topic.name)
    value = encoded([texts[field.column] for field in topic.fields], topic, wire.format)
    if len(value) > most_bytes:
        return _sealed_whole(message, topic, keys, most_bytes)
    return replace(message, value=value)


def how_sealed(message: Message, kept: Message) -> Literal["understood", "whole", "cut"]:
    """Whether of a message the personal fields are in an envelope, all of it, or only its beginning: it had no room."""
    if kept.value is None or not kept.value.startswith(OF_A_DAY_BYTES):
        return "understood"
    return "cut" if largest_sealed(len(kept.value)) < len(message.value or b"") else "whole"


def _sealed_whole(message: Message, topic: Topic, keys: Keys, most_bytes: int) -> Message:
    day, key = keys.of_today()
    kept = message.key if _is_number(message.key) else None
    value = (message.value or b"")[: largest_sealed(most_bytes)]
    return replace(message, value=sealed_value(value, key, day, topic.name), key=kept)


def _is_number(key: bytes | None) -> bool:
    return key is None or (len(key) <= LONGEST_KEY_BYTES and integer(key.decode(errors="replace")) is not None)
