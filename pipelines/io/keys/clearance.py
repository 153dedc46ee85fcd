"""What people are shown of sealed fields: the fields, to who may read the key store; to everybody else a mask (ADR 29).

Nothing that makes rows opens an envelope: this is for answers alone.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pipelines.contracts.envelope import (
    ERASED,
    OF_A_PACKAGE,
    SEALED,
    day_of,
    masked,
    masked_bytes,
    opened_fields,
    opened_value,
)
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.io.keys.key_store import KeyStore
from pipelines.settings import Seal, Settings
from pipelines.settings.seal import CARRIER, SEALABLE

Row = Mapping[str, Any]


class Clearance:
    """The right of who asks. Without a key store, everything that is sealed is masked.

    Its methods raise `KeysUnavailable` when the key store cannot be read any more.

    Args:
        fields: Columns of silver.ship_events that may be in an envelope.
        store: The keys, for who may read them.
    """

    def __init__(self, fields: Collection[str] = Seal().columns, store: KeyStore | None = None) -> None:
        self.fields = fields
        self._store = store

    @classmethod
    def of(cls, settings: Settings) -> "Clearance":
        """The clearance of this process's user. Raises `KeysUnavailable` for a readable key store that is none."""
        file = settings.key_store
        store = KeyStore(file, is_read_only=True) if os.access(file, os.R_OK) else None
        return cls(settings.seal.columns, store)

    @property
    def opens(self) -> bool:
        """Whether anything is shown in clear."""
        return self._store is not None

    def close(self) -> None:
        if self._store:
            self._store.close()

    def texts(self, envelopes: Sequence[str | None], numbers: Sequence[int]) -> list[dict[str, str] | None]:
        """By column what is in the envelopes of scans of these packages, or the mask for each that may be; None for
        what is none.
        """
        keys = self._store.keys_of(set(numbers)) if self._store else {}
        return [self._texts(*each, keys) for each in zip(envelopes, numbers, strict=True)]

    def _texts(self, envelope: str | None, number: int, keys: Mapping[int, bytes | None]) -> dict[str, str] | None:
        if envelope is None or not envelope.startswith(OF_A_PACKAGE):
            return None
        opened = opened_fields(envelope, keys.get(number), number, SHIP_EVENTS.name)
        if opened is not None:
            return opened
        is_erased = number in keys and keys[number] is None
        return dict.fromkeys(self.fields, ERASED if is_erased else SEALED)

    def row(self, row: Row) -> dict[str, Any]:
        """A row with a tracking number and the columns of a scan, as it is shown."""
        (texts,) = self.texts([row[CARRIER]], [row["tracking_number"]])
        if texts is None:
            return dict(row)
        return {**row, **{name: texts.get(name) for name in SEALABLE if name == CARRIER or row[name] is None}}

    def value(self, value: bytes | None, topic: str) -> bytes | None:
        """A record's value, as it is shown: one that was sealed whole is opened, or masked, and so is what is sealed of
        a scan, which its row shows."""
        if value is None:
            return None
        day = day_of(value) if self._store else None
        if self._store and day and (opened := opened_value(value, self._store.key_of_day(day), topic)) is not None:
            return opened
        return masked_bytes(value)

    def record(self, row: Row) -> dict[str, Any]:
        """A row of silver.quarantine, as it is shown."""
        return {
            **row,
            "value": self.value(row["value"], row["kafka_topic"]),
            "detail": row["detail"] and masked(row["detail"]),
        }


MASKED = Clearance()
"""That of whoever has none."""
