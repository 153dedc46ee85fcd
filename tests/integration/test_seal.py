"""Sealing and erasure on a real broker: each record once, and nothing in clear that stays."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.contracts.envelope import opened_fields
from pipelines.errors import AnotherWriter, KeysUnavailable
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka import mover
from pipelines.io.kafka.admin import topic_states
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.consumer import messages
from pipelines.io.kafka.mover import Mover
from pipelines.io.kafka.producer import LogProducer
from pipelines.io.keys.key_store import KeyStore
from pipelines.live import erase, seal, topics
from pipelines.settings import Kafka, Seal, Settings
from tests.brokers import drain
from tests.integration.topic_deletion import delete_topics

pytestmark = pytest.mark.integration

AT = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
"""Intake topics let go of what is older than their retention."""
CODE, CITY, TEXT = "QX-774411", "Unverwechselbarstadt", "left with the neighbour Zyxwvut"
PLAIN = tuple(text.encode() for text in (CODE, CITY, TEXT))


@pytest.fixture
def settings(broker: str, tmp_path: Path) -> Iterator[Settings]:
    made = Settings(
        home=tmp_path, kafka=Kafka(bootstrap_servers=broker, partitions=2), seal=Seal(enabled=True, intake_hours=96)
    )
    topics.run(commands.Topics(), made)
    yield made
    names = [topic.name for topic in topics.wanted_topics(made)]
    delete_topics(broker, *topic_states(Connection(broker), names))
    client = AdminClient({"bootstrap.servers": broker})  # one that is let go of never answers
    done = client.delete_consumer_groups([mover.NAME], request_timeout=5)[mover.NAME]
    with suppress(KafkaException):  # of a test that moved nothing
        done.result(10)


def scan(number: int, minute: int) -> bytes:
    return f"{number},{AT:%Y-%m-%dT%H}:{minute:02}:00Z,A1,IT,{TEXT},UPS,DE,BY,{CITY},{CODE},3".encode()


def produce(settings: Settings, *values: tuple[bytes, bytes]) -> None:
    producer = LogProducer(Connection.of(settings))
    producer.append(("ship-events-intake", key, value, int(AT.timestamp() * 1_000)) for key, value in values)
    producer.flush()


def kept(settings: Settings) -> list[tuple[bytes | None, bytes]]:
    return [(each.key, each.value or b"") for each in messages(Connection.of(settings), "ship-events")]


def sealed(settings: Settings) -> int:
    """Moves all that is there, and waits until it can be read: a commit is answered a little before that."""
    moved = seal.run(commands.Seal(drain=True), settings)
    with closing(Mover(Connection.of(settings), {"ship-events-intake": "ship-events"}, lambda _: [])) as barrier:
        barrier.begin()
    return moved


class Killed(Exception):
    """As a process that ends at this point."""


@pytest.mark.parametrize("gap", ["begin_transaction", "produce", "send_offsets_to_transaction", "commit_transaction"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_record_is_kept_once_wherever_sealing_is_killed(
    gap: str, when: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce(settings, *((b"%d" % number, scan(number, 0)) for number in range(1, 21)))

    whole: Any = confluent_kafka.Producer

    class Mortal(whole):  # type: ignore[misc]
        """Dies at the gap."""

    def dying(self: Any, *arguments: Any, **options: Any) -> Any:
        if when == "after":
            getattr(whole, gap)(self, *arguments, **options)
        raise Killed

    setattr(Mortal, gap, dying)
    with monkeypatch.context() as patched:
        patched.setattr(mover, "Producer", Mortal)
        with pytest.raises(Killed):
            sealed(settings)
    sealed(settings)
    assert sorted(key or b"" for key, _ in kept(settings)) == sorted(b"%d" % number for number in range(1, 21))


def test_second_sealer_fences_the_first(settings: Settings) -> None:
    into: dict[str, str] = {"ship-events-intake": "ship-events"}
    echo: Callable[[Any], Any] = lambda moved: [message for _, message in moved]  # noqa: E731
    first, second = (Mover(Connection.of(settings), into, echo) for _ in range(2))
    first.begin()
    second.begin()
    produce(settings, (b"42", scan(42, 0)))
    with pytest.raises(AnotherWriter, match="Another `pts seal`"):
        deque(iter(first.move, None), maxlen=0)


def test_lost_key_store_is_not_replaced_in_silence(settings: Settings) -> None:
    produce(settings, (b"42", scan(42, 0)))
    sealed(settings)
    settings.key_store.unlink()
    with pytest.raises(KeysUnavailable, match="has records"):
        sealed(settings)
    seal.run(commands.Seal(drain=True, new_keys=True), settings)
    assert settings.key_store.exists()


def test_erased_package_is_in_clear_nowhere_and_its_neighbour_is_still_readable(
    spark: SparkSession, settings: Settings
) -> None:
    produce(settings, (b"42", scan(42, 0)), (b"43", scan(43, 0)), (b"42", PLAIN[2] + b", 42"), (PLAIN[0], scan(42, 1)))
    assert sealed(settings) == 4
    drain(spark, settings)
    store = KeyStore(settings.key_store)
    key = store.key_of(42)
    assert key is not None
    assert opened(settings, store, 42) == [{"postal_code": CODE, "city": CITY, "status_description": TEXT}]
    before = rows(settings)

    assert erase.run(commands.Erase(tracking_number=42), settings).had_key
    assert not erase.run(commands.Erase(tracking_number=42), settings).had_key, "called again after it was cut off"
    produce(settings, (b"42", scan(42, 5)))
    sealed(settings)
    assert rows(settings) == before
    drain(spark, settings)

    assert opened(settings, store, 42) == [None, None]
    assert opened(settings, store, 43) == [{"postal_code": CODE, "city": CITY, "status_description": TEXT}]
    reports = [each.value for each in messages(Connection.of(settings), "package-reports") if each.key == b"42"]
    assert None in reports
    for file in settings.home.rglob("*"):
        if file.is_file():
            assert not any(text in file.read_bytes() for text in (*PLAIN, key)), file
    assert not any(text in value + (key or b"") for key, value in kept(settings) for text in PLAIN)


def rows(settings: Settings) -> list[dict[str, Any]]:
    sql = "FROM silver.ship_events ORDER BY kafka_partition, kafka_offset"
    found: list[dict[str, Any]] = LakeReader(settings.lake_root).query(sql).to_pylist()
    return found


def opened(settings: Settings, store: KeyStore, number: int) -> list[dict[str, str] | None]:
    return [
        opened_fields(row["status_description"], store.key_of(number), number, "ship-events")
        for row in rows(settings)
        if row["tracking_number"] == number
    ]
