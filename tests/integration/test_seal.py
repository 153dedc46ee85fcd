"""Sealing and erasure on a real broker: each record once, and nothing in clear that stays."""

import json
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import confluent_kafka
import pyarrow.parquet as pq
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.contracts.envelope import day_of, opened_fields, opened_value
from pipelines.contracts.judge import Message, judged
from pipelines.contracts.rules import Reason
from pipelines.contracts.topics import LARGEST_INTAKE_BYTES, SHIP_EVENTS
from pipelines.errors import AnotherWriter, BrokerUnavailable, KeysUnavailable, LogTruncated
from pipelines.io.delta import files
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.kafka import mover
from pipelines.io.kafka.admin import EMBEDDED_BROKER, end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.consumer import messages
from pipelines.io.kafka.mover import Mover
from pipelines.io.kafka.producer import LARGEST_RECORD_BYTES, LogProducer
from pipelines.io.keys.key_store import KeyStore
from pipelines.live import erase, seal
from pipelines.maintenance.compact import compact
from pipelines.observability.lineage import merged
from pipelines.observability.sealed_batch import SealedBatch
from pipelines.processes.signals import StopRequest
from pipelines.queries import quarantine
from pipelines.queries.explain import explanation
from pipelines.queries.report import package_report
from pipelines.queries.sql import query
from pipelines.settings import Settings
from pipelines.state.lake_choices import wires
from tests.board import makers as board
from tests.brokers import drain, sealing_log
from tests.calling import Call
from tests.canaries import files_below
from tests.integration.pts_process import settings_of
from tests.integration.topic_deletion import delete_topics

pytestmark = pytest.mark.integration

AT = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
"""Intake topics delete what is older than their retention."""
FIELDS = ("postal_code", "city", "status_description")
MASKS = (("[sealed]",) * 3, ("[erased]",) * 3)
CODE, CITY, TEXT = "QX-774411", "Unverwechselbarstadt", "left with the neighbour Zyxwvut"
PLAIN = tuple(text.encode() for text in (CODE, CITY, TEXT))


@pytest.fixture
def settings(broker: str, tmp_path: Path) -> Iterator[Settings]:
    with sealing_log(broker, tmp_path) as made:
        yield made


def scan(number: int, minute: int) -> bytes:
    return f"{number},{AT:%Y-%m-%dT%H}:{minute:02}:00Z,A1,IT,{TEXT},UPS,DE,BY,{CITY},{CODE},3".encode()


def produce(settings: Settings, *values: tuple[bytes, bytes]) -> None:
    producer = LogProducer(Connection.of(settings))
    producer.append(("ship-events-intake", key, value, int(AT.timestamp() * 1_000)) for key, value in values)
    producer.flush()


def configure(settings: Settings, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    client = AdminClient({"bootstrap.servers": settings.bootstrap_servers})
    for altered in client.incremental_alter_configs([resource]).values():
        altered.result()


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


def test_sealer_that_is_asked_to_stop_leaves_nothing_in_clear_behind(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = StopRequest()
    asked.set()
    monkeypatch.setattr(seal, "signals_ask_to_stop", lambda: nullcontext(asked))
    produce(settings, *((b"%d" % number, scan(number, 0)) for number in range(1, 21)))
    assert seal.run(commands.Seal(), settings) == 20
    assert seal.run(commands.Seal(drain=True), settings) == 0


def test_second_sealer_fences_the_first(settings: Settings) -> None:
    into: dict[str, str] = {"ship-events-intake": "ship-events"}
    echo: Callable[[Any], Any] = lambda moved: [message for _, message in moved]  # noqa: E731
    first, second = (Mover(Connection.of(settings), into, echo) for _ in range(2))
    first.begin()
    second.begin()
    produce(settings, (b"42", scan(42, 0)))
    with pytest.raises(AnotherWriter, match="Another `pts seal`"):
        deque(iter(first.move, None), maxlen=0)


def test_large_records_are_moved_few_at_once(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held at once does not grow with what a record may hold."""
    monkeypatch.setattr(mover, "BYTES_AT_ONCE", 4 * len(scan(42, 0)))
    produce(settings, *((b"42", scan(42, minute)) for minute in range(10)))
    into: dict[str, str] = {"ship-events-intake": "ship-events"}
    with closing(Mover(Connection.of(settings), into, lambda moved: [message for _, message in moved])) as few:
        few.begin()
        counts = []
        while few.behind():
            counts.append(few.move())
    assert sum(counts) == 10
    assert max(counts) == 4


def test_records_that_went_before_the_first_sealer_came_are_not_passed_over_in_silence(settings: Settings) -> None:
    produce(settings, *((b"42", scan(42, minute)) for minute in range(10)))
    intake = end_offsets(Connection.of(settings), ["ship-events-intake"])["ship-events-intake"]
    [part] = [part for part, end in intake.items() if end]
    client = AdminClient({"bootstrap.servers": settings.bootstrap_servers})
    for deleted in client.delete_records([TopicPartition("ship-events-intake", part, 4)]).values():
        deleted.result()
    with pytest.raises(LogTruncated, match=f"ship-events-intake/{part} has deleted 4 records that were not sealed"):
        seal.run(commands.Seal(drain=True), settings)
    assert seal.run(commands.Seal(drain=True, skip_lost=True), settings) == 6
    assert seal.run(commands.Seal(drain=True), settings) == 0


class Told:
    """The batches that an observer was told of, but for those in which nothing was."""

    def __init__(self) -> None:
        self.batches: list[SealedBatch] = []

    def batch_done(self, batch: SealedBatch) -> None:
        if batch.ranges:
            self.batches.append(batch)


def test_observer_is_told_what_was_moved_and_what_waits(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mover, "BYTES_AT_ONCE", 4 * len(scan(42, 0)))
    produce(settings, *((b"42", scan(42, minute)) for minute in range(7)), (b"42", PLAIN[2] + b", 42"))
    told = Told()
    assert seal.run(commands.Seal(drain=True), settings, [told]) == 8
    records = sum((Counter(batch.records) for batch in told.batches), Counter[tuple[str, str]]())
    assert records == {("ship-events", "understood"): 7, ("ship-events", "whole"): 1}
    topic = "ship-events-intake"
    read = merged(part for batch in told.batches for part in batch.ranges)[topic]
    assert sum(end - first for _, first, end in read) >= 8  # ends of transactions are offsets, too
    waiting = [sum(count for (name, _), count in batch.behind.items() if name == topic) for batch in told.batches]
    assert waiting[0] >= 4
    assert waiting[-1] == 0
    assert waiting == sorted(waiting, reverse=True)


def test_lost_key_store_is_not_replaced_in_silence(settings: Settings) -> None:
    produce(settings, (b"42", scan(42, 0)))
    sealed(settings)
    settings.key_store.unlink()
    with pytest.raises(KeysUnavailable, match="has records"):
        sealed(settings)
    seal.run(commands.Seal(drain=True, new_keys=True), settings)
    assert settings.key_store.exists()


@pytest.mark.parametrize("is_of_before", [False, True], ids=["refused", "from before"])
def test_record_that_is_small_by_its_compression_alone_stops_no_sealer(is_of_before: bool, settings: Settings) -> None:
    """Its producer is told. On a topic of before that was a rule, it is moved as far as it has room."""
    huge = scan(42, 0).replace(TEXT.encode(), TEXT.encode() * 400_000)
    assert len(huge) > LARGEST_RECORD_BYTES * 3 // 4 > LARGEST_INTAKE_BYTES
    if not is_of_before:
        with pytest.raises(BrokerUnavailable, match="too large"):
            produce(settings, (b"42", huge))
    else:
        configure(settings, "ship-events-intake", "compression.type", "producer")
        produce(settings, (b"42", huge), (b"42", scan(42, 5)))
        assert sealed(settings) == 2
        found = [value for key, value in kept(settings) if key == b"42"]
        assert len(found) == 2
        assert not any(text in value for value in found for text in PLAIN)
        assert judged(Message(found[0], b"42"), SHIP_EVENTS, wires(settings)["ship-events"]).reason == Reason.MALFORMED
        opened = opened_value(found[0], KeyStore(settings.key_store).key_of_day(day_of(found[0]) or ""), "ship-events")
        assert opened
        assert huge.startswith(opened)
    assert sealed(settings) == 0


def test_package_is_read_in_clear_with_the_keys_masked_without_them_and_by_nobody_once_it_is_erased(
    spark: SparkSession, settings: Settings
) -> None:
    produce(settings, (b"42", scan(42, 0)), (b"42", scan(42, 0)), (b"43", scan(43, 0)), (b"42", PLAIN[2] + b", 42"))
    sealed(settings)
    drain(spark, settings)
    stranger = settings.model_copy(update={"seal": settings.seal.model_copy(update={"keys": settings.home / "none"})})
    clear, mask, erased = (dict(zip(FIELDS, texts, strict=True)) for texts in ((CODE, CITY, TEXT), *MASKS))
    assert [fields_of(row) for row in shown(settings, 42)] == [clear] * 3
    assert [fields_of(row) for row in shown(stranger, 42)] == [mask] * 3
    for who in (settings, stranger):
        assert explanation(42, who).repeats[0].differs == {}
        masked = query(commands.Sql(query="FROM silver.ship_events", engine="spark"), who).to_pylist()
        assert {row["status_description"] for row in masked} == {"[sealed]"}
    rejected = commands.QuarantineShow(reason=Reason.MALFORMED)
    assert quarantine.shown(rejected, settings)[0]["value"] == f"{TEXT}, 42"
    assert quarantine.shown(rejected, stranger)[0]["value"] == "[sealed]"
    for path in ("/packages/42?repeats=true", "/quarantine", "/places"):
        page = board.client(settings).get(path).text
        assert not any(text.decode() in page for text in (*PLAIN, b"sealed:1:")), path
        assert ("[sealed]" in page) == (path != "/places")

    erase.run(commands.Erase(tracking_number=42), settings)
    assert [fields_of(row) for row in shown(settings, 42)] == [erased] * 3
    assert [fields_of(row) for row in shown(stranger, 42)] == [mask] * 3
    assert [fields_of(row) for row in shown(settings, 43)] == [clear] * 3


def shown(settings: Settings, number: int) -> list[dict[str, Any]]:
    """A package's scan and report: in `pts report`, and its scan by `pts sql`."""
    found = package_report(number, settings)
    asked = query(commands.Sql(query=f"FROM silver.ship_events WHERE tracking_number = {number}"), settings)
    return [*map(dict, found.scans), dict(found.report or {}), *asked.to_pylist()]


def fields_of(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in FIELDS}


@pytest.fixture
def broker_files(broker: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the session's broker, which removes deleted files soon, and not a minute later."""
    entry = ConfigEntry("log.segment.delete.delay.ms", "1000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.BROKER, EMBEDDED_BROKER, incremental_configs=[entry])
    client = AdminClient({"bootstrap.servers": broker})  # one that is garbage never answers
    for altered in client.incremental_alter_configs([resource]).values():
        altered.result()
    return next(iter(sorted(tmp_path_factory.getbasetemp().glob("broker[0-9]*"))))


@pytest.mark.long
def test_what_was_erased_is_in_no_file_and_a_replay_before_and_after_it_is_the_same(
    call: Call, spark: SparkSession, settings: Settings, broker_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lake, shadows, checkpoint, pages, lineage, the key store, what is said, what is spilled, and the broker's own
    files: also after all that copies rows.
    """
    environment, said = settings_of(settings, "lake", PTS_LINEAGE__ENABLED="true"), list[str]()

    def done(*arguments: str) -> str:
        ended = call([*arguments], environment)
        said.append(ended.stdout + ended.stderr)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def replayed(name: str) -> str:
        done("replay", "build", name)
        return str(json.loads(done("replay", "compare", name, "--json").splitlines()[-1])["verdict"])

    for minute in range(3):
        scans = [(b"%d" % number, scan(number, minute)) for number in (42, 43)]
        produce(settings, *scans, (b"42", PLAIN[2] + b", 42"), (PLAIN[0], scan(42, minute)))
        assert sealed(settings) == 4
        done("stream", "--drain")
    monkeypatch.setattr(files, "MANY_SMALL", 2)
    assert any(each.is_joined for each in compact(settings.lake_root, timedelta(0)).tables)
    assert replayed("before") == "identical"
    done("replay", "promote", "before")
    done("replay", "rollback", "before")
    done("check")
    key = KeyStore(settings.key_store).key_of(42)
    assert key is not None
    assert found_in(settings.home, key) == {"seal/keys.sqlite"}
    topics_with = {
        path.split("/")[2].partition(".")[0].rstrip("-0123456789") for path in found_in(broker_files, *PLAIN)
    }
    assert topics_with == {"ship-events-intake"}, "the search finds what there is"
    before = rows(settings)

    done("erase", "42")
    assert replayed("after") == "identical"
    assert rows(settings) == before
    produce(settings, (b"42", scan(42, 9)))
    sealed(settings)
    done("stream", "--drain")
    store = KeyStore(settings.key_store)
    assert opened(settings, store, 42) == [None] * 4
    assert opened(settings, store, 43) == [dict(zip(FIELDS, (CODE, CITY, TEXT), strict=True))] * 3
    assert {row["city"] for row in shown(settings, 42)} == {"[erased]"}

    delete_topics(settings.bootstrap_servers, "ship-events-intake", "ship-routes-intake")
    deadline = time.monotonic() + 120
    while left := found_in(broker_files, *PLAIN, key):
        assert time.monotonic() < deadline, left
        time.sleep(0.5)
    assert spark._jvm
    scratch = {tempfile.gettempdir(), str(spark._jvm.System.getProperty("java.io.tmpdir"))}
    assert settings.lineage_file.exists()
    assert list(settings.quality_pages.rglob("*.html"))
    for folder in (settings.home, *map(Path, scratch)):
        assert found_in(folder, *PLAIN, key) == set()
    assert '"batch_id"' in "".join(said)
    assert [text for text in (CODE, CITY, TEXT) if text in "".join(said)] == []
    for topic in ("ship-events", "ship-routes", "package-reports"):  # also within compressed batches
        for each in messages(Connection.of(settings), topic):
            assert not any(text in (each.value or b"") + (each.key or b"") for text in PLAIN)


def found_in(folder: Path, *texts: bytes) -> set[str]:
    """The files that have one of these in them: as bytes, or as a value of a Parquet file, which may be compressed."""
    found = set()
    for file in files_below(folder):
        with suppress(FileNotFoundError):  # of a broker, which deletes files and folders meanwhile
            if file.is_file():
                held = file.read_bytes()
                if file.suffix == ".parquet":
                    held += repr(pq.ParquetFile(file).read().to_pylist()).encode()
                if any(text in held for text in texts):
                    found.add(str(file.relative_to(folder)))
    return found


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
