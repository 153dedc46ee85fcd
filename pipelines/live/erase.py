"""`pts erase`: a package's personal fields are forgotten, wherever their envelopes are (ADR 29)."""

import time
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.commands import Erase
from pipelines.contracts.topics import PACKAGE_REPORTS
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.producer import LogProducer
from pipelines.io.keys.key_store import KeyStore
from pipelines.progress import part
from pipelines.settings import Settings


@dataclass(frozen=True)
class Erased:
    """What an erasure did. `had_key`: whether there was one to destroy, and not a tombstone, or nothing yet."""

    tracking_number: int
    had_key: bool

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def run(command: Erase, settings: Settings) -> Erased:
    """Destroys the key, leaves a tombstone, and then withdraws the report. Cut off anywhere, it is called again: both
    can be done twice.

    Raises:
        KeysUnavailable: There is no key store, or it cannot be written. Nothing was done.
        BrokerUnavailable, AccessRefused, TopicMismatch: The key is destroyed, the report not withdrawn yet.
    """
    number = command.tracking_number
    with closing(KeyStore(settings.key_store)) as store:
        had_key = store.erase(number)
    producer = LogProducer(Connection.of(settings), is_idempotent=False)
    producer.append([(PACKAGE_REPORTS.name, str(number).encode(), None, int(time.time() * 1_000))])
    with part("Withdrawing the report"):
        producer.flush()
    return Erased(number, had_key)
